"""Units that are doors or rooms: people and jobs come in through them, and none of them is a job.

What runs below such a unit is whoever's came in, so the unit is no manager of it: to stop it would
close the door on everybody. Each was judged by that question alone. A unit that runs one program
of its own (ollama.service, a template such as vllm@7.service) is a manager and stands not here.
"""

from __future__ import annotations

import re

_DOORS = (
    # Logins over the network: a shell of whoever comes in is below the daemon.
    *("sshd?", "sshd?@.*", "sshd-session.*", "dropbear.*", "tailscaled", "teleport.*", "telnet.*"),
    *("inetd", "xinetd", "et", "mosh.*", "rlogin.*", "amazon-ssm-agent", "google-guest-agent.*"),
    *(r"snap\.amazon-ssm-agent\..*", "warpgate", "guacd", "cockpit.*", "webmin", "shellinabox"),
    *("ttyd.*", "wetty", "gotty"),
    # Screens.
    *("xrdp", "xrdp-sesman", "display-manager", r"gdm\d?", "sddm", "lightdm", "xdm", "greetd"),
    *("vncserver.*", "x11vnc.*", "tigervnc.*", "nxserver", "dcvserver", "chrome-remote-desktop.*"),
    *("anydesk", "teamviewerd", "rustdesk", "sunshine"),
    # Where people work in a browser: kernels and terminals of all of them are below.
    *("jupyter.*", "code-server.*", "openvscode-server.*", "rstudio-server", "coder-agent"),
    # Terminals and their multiplexers.
    *("getty@.*", "serial-getty@.*", "console-getty", "container-getty@.*", "tmux.*", "screen.*"),
    *("zellij.*",),
)
_STARTERS = (
    # They start what others asked for, at a time or from a queue: the jobs of all of them.
    *("crond?", "cronie", "anacron", "fcron", "atd", "rc-local"),
    *("gitlab-runner.*", r"actions\.runner\..*", "jenkins.*", "buildkite-agent.*", "buildbot.*"),
    *("teamcity.*", "drone-runner.*", "woodpecker-agent.*", "act_runner.*", "forgejo-runner.*"),
    *("slurmd", "slurmstepd", "condor", "pbs", "pbs_mom", "lsfd?", "sge.*", "gridengine-.*"),
    *("flux", "nomad", "mesos-slave", "mesos-agent"),
)
_ROOMS = (
    # What runs containers and machines: each of these has a manager's name of its own.
    *("docker", "containerd", "crio", "podman", "kubelet", "k3s", "k3s-agent", r"k0s\w*"),
    *("rke2-server", "rke2-agent", r"snap\.microk8s\..*", "lxc", "lxc-net", "lxcfs", "lxc@.*"),
    *("lxd", r"snap\.lxd\..*", "incus", "libvirtd", r"virt\w+d", "dbus", "dbus-broker"),
    # Of systemd itself.
    *("init", r"user@\d+", r"user-runtime-dir@\d+", "systemd-.*"),
)
_HOST_UNITS = re.compile(f"(?:{'|'.join((*_DOORS, *_STARTERS, *_ROOMS))})\\.service")


def is_host_unit(unit: str) -> bool:
    """Tell whether a unit is a door or a room, and no program's own."""
    return _HOST_UNITS.fullmatch(unit) is not None
