"""Where a launch can be, and every legal way from there, as one table (design §9)."""

from __future__ import annotations

from enum import Enum

from gpudash.core.launch import happened as ev


class Phase(Enum):
    """Where a launch is."""

    CHECKING = "checking"
    CLEANING = "cleaning"
    PROVING = "proving"
    CHECKING_AGAIN = "checking again"
    LAUNCHING = "launching"
    FOLLOWING = "following"
    SERVING = "serving"
    """Ready, and followed on."""
    STOPPING = "stopping"
    DONE = "done"


P = Phase
RUNS = (P.FOLLOWING, P.SERVING, P.STOPPING)
"""The command was started."""

TRANSITIONS: dict[tuple[Phase, type[ev.Event]], tuple[Phase, ...]] = {
    (P.CHECKING, ev.Checked): (P.CLEANING, P.PROVING, P.CHECKING_AGAIN, P.DONE),
    (P.CHECKING, ev.NotChecked): (P.DONE,),
    (P.CHECKING, ev.Interrupted): (P.DONE,),
    (P.CLEANING, ev.Cleaned): (P.PROVING, P.CHECKING_AGAIN, P.DONE),
    (P.CLEANING, ev.Interrupted): (P.CLEANING,),
    (P.PROVING, ev.Held): (P.CHECKING_AGAIN, P.DONE),
    (P.PROVING, ev.Interrupted): (P.DONE,),
    (P.CHECKING_AGAIN, ev.Checked): (P.LAUNCHING, P.DONE),
    (P.CHECKING_AGAIN, ev.NotChecked): (P.DONE,),
    (P.CHECKING_AGAIN, ev.Interrupted): (P.DONE,),
    # What is on its way can't be called back: whether it started is known first.
    (P.LAUNCHING, ev.Interrupted): (P.LAUNCHING,),
    (P.LAUNCHING, ev.Started): (P.FOLLOWING,),
    (P.LAUNCHING, ev.NotStarted): (P.DONE,),
    (P.FOLLOWING, ev.Exited): (P.FOLLOWING,),
    (P.FOLLOWING, ev.BecameReady): (P.SERVING, P.DONE),
    (P.FOLLOWING, ev.FollowEnded): (P.DONE,),
    (P.FOLLOWING, ev.Interrupted): (P.DONE,),
    (P.FOLLOWING, ev.StopChosen): (P.STOPPING,),
    (P.SERVING, ev.Exited): (P.SERVING,),
    (P.SERVING, ev.FollowEnded): (P.DONE,),
    (P.SERVING, ev.Interrupted): (P.DONE,),
    (P.SERVING, ev.StopChosen): (P.STOPPING,),
    (P.STOPPING, ev.Exited): (P.STOPPING,),
    (P.STOPPING, ev.BecameReady): (P.STOPPING,),
    (P.STOPPING, ev.FollowEnded): (P.STOPPING,),
    (P.STOPPING, ev.Interrupted): (P.STOPPING,),
    (P.STOPPING, ev.StopChosen): (P.STOPPING,),
    (P.STOPPING, ev.StopEnded): (P.DONE,),
}
