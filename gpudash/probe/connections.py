"""Who listens where, and how many clients are connected, from /proc/PID/net/tcp and tcp6."""

import os

ESTABLISHED = "01"
LISTENING = "0A"
MAX_TABLE = 16 * 1024 * 1024


def add_ports(rows, sockets):
    """Put ports and clients into the rows of processes; `sockets` are their links by pid."""
    spaces = {}
    for row in rows:
        if sockets.get(row["pid"]):
            spaces.setdefault(_namespace(row["pid"]), []).append(row)
    for members in spaces.values():
        listening, clients = _table(members[0]["pid"])
        for row in members:
            ports = {listening[one] for one in sockets[row["pid"]] if one in listening}
            row["ports"] = sorted(ports)
            row["clients"] = sum(clients.get(port, 0) for port in ports)


def _namespace(pid):
    try:
        return os.stat("/proc/%d/ns/net" % pid).st_ino
    except OSError:
        return None


def _table(pid):
    """Return the port of each listening socket, and the connections to each port."""
    listening = {}
    clients = {}
    for name in ("tcp", "tcp6"):
        try:
            with open("/proc/%d/net/%s" % (pid, name), "rb") as table:
                lines = table.read(MAX_TABLE).decode("ascii", "replace").splitlines()
        except OSError:
            continue
        for line in lines[1:]:
            words = line.split()
            if len(words) < 10:
                continue
            port = int(words[1].rpartition(":")[2], 16)
            if words[3] == LISTENING:
                listening["socket:[%s]" % words[9]] = port
            elif words[3] == ESTABLISHED:
                clients[port] = clients.get(port, 0) + 1
    return listening, clients
