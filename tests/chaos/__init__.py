"""Cuts at every step of a cleanup over a real sshd, judged by an observer that is no gpudash.

`observer.py` traces the processes of the cast and notes each signal and each end. `gate.py` stands
on the host between the link and gpudash's programs there: it holds a cleanup exactly where the
table of `test_cuts.py` says, by keeping back the answer that would end the phase.
"""
