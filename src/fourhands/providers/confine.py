"""The program that gives up rights and becomes another program: `python -P -I -S confine.py POLICY PROGRAM ARGV0 …`.

POLICY is a file of JSON. Rights are given up by Landlock (files, TCP, signals) and by a filter of system calls; neither
can be undone by what comes after. It runs before the program's own environment is in force: a variable such as
LD_PRELOAD would be loaded here, outside; so each comes packed (see `entrypoint`) and is unpacked last.

Standard library only, and no module of Fourhands. What cannot be given up ends it with 125 and a line of text.
"""

import base64
import ctypes
import json
import os
import struct
import sys
from typing import Any

FAILED = 125
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH, NET_PORT = 1, 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
CONNECT_TCP = 2
_FILES_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
# Never inside: devices made by a program.
_MAKE_DEVICES = (1 << 6) | (1 << 11)

_NO_NEW_PRIVILEGES, _SET_FILTER, _DROP_BOUND, _AMBIENT = 38, 22, 24, 47


class ConfineError(Exception):
    """A right that could not be given up."""


def abi(libc: ctypes.CDLL) -> int:
    """Return the version of Landlock that the kernel has; 0 for none."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def handled_files(version: int) -> int:
    """Return the rights on files that a version knows, of those that are known here."""
    return max(rights for first, rights in _FILES_BY_ABI.items() if first <= version)


def rights_of(kind: str, version: int) -> int:
    """Return the rights of one kind of rule."""
    known = handled_files(version)
    if kind == "read":
        return EXECUTE | READ_FILE | READ_DIR
    if kind == "list":
        return READ_DIR
    if kind == "device":
        return (READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | IOCTL_DEVICE) & known
    return known & ~_MAKE_DEVICES & ~IOCTL_DEVICE


def restrict(libc: ctypes.CDLL, policy: dict[str, Any]) -> None:
    """Renounce everything on files and TCP that the policy does not list, and signals to the outside."""
    version = abi(libc)
    if version < 1:
        raise ConfineError("this kernel has no Landlock")
    files = handled_files(version)
    network = 3 if version >= 4 and policy.get("network", True) else 0
    scopes = 3 if version >= 6 and policy.get("scoped", True) else 0
    attributes = struct.pack("=QQQ", files, network, scopes)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        raise ConfineError(f"cannot make rules: {os.strerror(ctypes.get_errno())}")
    rules, ports = policy["rules"], policy.get("connect", [])
    if not isinstance(rules, list) or not isinstance(ports, list):
        raise ConfineError("the policy has no rules")
    for path, kind in rules:
        _allow(libc, ruleset, path, rights_of(kind, version))
    if policy.get("tty", False):
        _allow_own_terminal(libc, ruleset, rights_of("device", version))
    for port in ports if network else ():
        rule = struct.pack("=QQ", CONNECT_TCP, port)
        if libc.syscall(ADD_RULE, ruleset, NET_PORT, rule, ctypes.c_uint32(0)) < 0:
            raise ConfineError(f"cannot allow port {port}: {os.strerror(ctypes.get_errno())}")
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) < 0:
        raise ConfineError("cannot give up new privileges")
    if libc.syscall(RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) < 0:
        raise ConfineError(f"cannot keep the rules: {os.strerror(ctypes.get_errno())}")
    os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there, or not ours, is not shown
    try:
        is_dir = os.stat(place).st_mode & 0o170000 == 0o040000
        rule = struct.pack("=Qi", rights if is_dir else rights & _OF_A_FILE, place)
        if libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, ctypes.c_uint32(0)) < 0:
            raise ConfineError(f"cannot allow {path}: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(place)


def _allow_own_terminal(libc: ctypes.CDLL, ruleset: int, rights: int) -> None:
    """Allow the terminal that the program is on, and no other: a name in /dev/pts is another program's keyboard."""
    for descriptor in range(3):
        try:
            name = os.ttyname(descriptor)
        except OSError:
            continue
        _allow(libc, ruleset, name, rights)


def drop_capabilities(libc: ctypes.CDLL) -> None:
    """Renounce every capability for good; root without them is an ordinary user that owns root's files."""
    if os.geteuid() == 0:
        number = 0
        while libc.prctl(_DROP_BOUND, number, 0, 0, 0) == 0 and number < 64:
            number += 1
    libc.prctl(_AMBIENT, 4, 0, 0, 0)
    header = struct.pack("=Ii", 0x20080522, 0)
    libc.capset(header, bytes(24))
    with open("/proc/self/status") as file:
        held = dict(line.split(":\t") for line in file if line.startswith("Cap"))
    names = ("CapPrm", "CapEff", "CapInh", "CapAmb", *(("CapBnd",) if os.geteuid() == 0 else ()))
    if any(int(held[name], 16) for name in names):
        raise ConfineError("cannot give up capabilities")


def install(libc: ctypes.CDLL, program: bytes) -> None:
    """Put the filter of system calls in force."""
    buffer = ctypes.create_string_buffer(program, len(program))
    filters = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(_SET_FILTER, ctypes.c_ulong(2), filters, 0, 0) < 0:
        raise ConfineError(f"cannot filter system calls: {os.strerror(ctypes.get_errno())}")


def join_cell(policy: dict[str, Any]) -> dict[bytes, bytes]:
    """Find out whether this runs in a cell, and adapt the policy; returns directories to be replaced by the cell's.

    In a cell the file `outside` cannot be opened, and of all cells' directories only its own can. All programs of a
    cell share the rules that keep signals in, so a launch there must not add such rules of its own.
    """
    if "outside" not in policy:
        return {}
    if _opens(policy["outside"]):
        return {}
    for name in sorted(os.listdir(policy["cells"])):
        with open(os.path.join(policy["cells"], name)) as file:
            dirs = json.load(file)
        if os.path.isdir(dirs["tmp"]) and _opens(dirs["tmp"]):
            policy["rules"] += [[dirs["home"], "write"], [dirs["tmp"], "write"]]
            policy["scoped"] = False
            return {os.fsencode(policy["own"][kind]): os.fsencode(dirs[kind]) for kind in ("home", "tmp")}
    raise ConfineError("the cell's own directories are not known")


def _opens(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except PermissionError:
        return False
    return True


def environment() -> dict[bytes, bytes]:
    """Return the environment of the program: what came packed, or what is there if nothing did."""
    prefix = b"FOURHANDS_V"
    packed = [(int(name[len(prefix) :]), value) for name, value in os.environb.items() if name.startswith(prefix)]
    if not packed:
        return dict(os.environb)
    pairs = (value.partition(b"=") for _, value in sorted(packed))
    return {name: value for name, _, value in pairs}


def main() -> None:
    """Confine this process and become the program."""
    try:
        source, program, *argv = sys.argv[1:]
        with open(source) as file:
            policy = json.load(file)
        libc = ctypes.CDLL(None, use_errno=True)
        replaced = join_cell(policy)
        drop_capabilities(libc)
        restrict(libc, policy)
        install(libc, base64.b64decode(policy["filter"]))
    except (ConfineError, OSError, ValueError, KeyError, TypeError) as error:
        print(f"fourhands: cannot build the sandbox: {error!r}", file=sys.stderr)
        sys.exit(FAILED)
    try:
        os.execve(program, argv, {name: replaced.get(value, value) for name, value in environment().items()})
    except OSError as error:
        print(f"fourhands: cannot start {program}: {error.strerror}", file=sys.stderr)
        sys.exit(126 if isinstance(error, PermissionError) else 127)


if __name__ == "__main__":
    main()
