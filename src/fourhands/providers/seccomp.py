"""The filter of system calls for the sandbox: it closes the ways out of the wall that have no namespace.

Everything is allowed but what is named here, and that is refused with an error, never by a signal. Named are the
kernel's key rings, sockets of families that no network namespace holds (the hypervisor's above all), text pushed into a
terminal, and two doors to much kernel code that no program needs there. io_uring is refused because it makes sockets
that no filter sees. What needs a capability is not named: there are none inside.

A call of another architecture has other numbers, and any program can make one: a processor's 32-bit calls have a table
of their own here, and those of x32 do not exist. The 32-bit `socketcall` hides its arguments from a filter, so it
makes no sockets; since Linux 4.3 there are calls that do not hide them, which not every 32-bit C library uses.
"""

import errno
import struct

# Instructions of the classic Berkeley packet filter, and where they find the call (struct seccomp_data). Arguments are
# compared in their lower half: the kernel looks at no more of these, so the rest must not make a difference.
_LOAD, _IF_EQUAL, _IF_NOT_LESS, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000

_X32 = 0x40000000  # from here on, numbers are those of x32; no other table is that long
_SKIPPED = 0xFFFFFFFF  # a debugger has taken the call away and has set its result

# Linux' own numbers: the modules of other systems have others, or lack the names, and this one is imported there too.
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_PUSHING = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_MAKING = (1, 8)  # socket and socketpair, as socketcall numbers them

_Instruction = tuple[int, int, int, int]

# For each machine its own architecture and the one of its 32-bit programs, as the kernel's audit numbers them.
_CALLS: dict[str, dict[int, dict[str, int]]] = {
    "x86_64": {
        0xC000003E: {"socket": 41, "socketpair": 53, "ioctl": 16, "add_key": 248, "request_key": 249, "keyctl": 250,
                     "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425},
        0x40000003: {"socket": 359, "socketpair": 360, "ioctl": 54, "add_key": 286, "request_key": 287, "keyctl": 288,
                     "bpf": 357, "userfaultfd": 374, "io_uring_setup": 425, "socketcall": 102},
    },
    "aarch64": {
        0xC00000B7: {"socket": 198, "socketpair": 199, "ioctl": 29, "add_key": 217, "request_key": 218, "keyctl": 219,
                     "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425},
        0x40000028: {"socket": 281, "socketpair": 288, "ioctl": 54, "add_key": 309, "request_key": 310, "keyctl": 311,
                     "bpf": 386, "userfaultfd": 388, "io_uring_setup": 425},
    },
}  # fmt: skip


def program(machine: str) -> bytes:
    """Build the filter for a machine, as `bwrap --seccomp` reads it; empty where there is none."""
    if machine not in _CALLS:
        return b""
    steps: list[_Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for architecture, calls in _CALLS[machine].items():
        body = _body(calls)
        steps += [(_IF_EQUAL, 0, len(body), architecture), *body]
    steps.append((_RETURN, 0, 0, _ERROR | errno.ENOSYS))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _body(calls: dict[str, int]) -> list[_Instruction]:
    """Build the instructions that decide one architecture's system calls."""
    # What a kernel without the thing itself would answer: programs are prepared for that.
    missing, forbidden = _ERROR | errno.ENOSYS, _ERROR | errno.EPERM
    families = _choice(_FIRST, _FAMILIES, _ALLOW, _ERROR | errno.EAFNOSUPPORT)
    verdicts = {
        "socket": families,
        "socketpair": families,
        "socketcall": _choice(_FIRST, _MAKING, missing, _ALLOW),
        "ioctl": _choice(_SECOND, _PUSHING, forbidden, _ALLOW),
        "bpf": [(_RETURN, 0, 0, forbidden)],
        "userfaultfd": [(_RETURN, 0, 0, forbidden)],
    }
    steps: list[_Instruction] = [
        (_LOAD, 0, 0, _NUMBER),
        (_IF_NOT_LESS, 0, 3, _X32),
        (_IF_EQUAL, 1, 0, _SKIPPED),
        (_RETURN, 0, 0, missing),
        (_RETURN, 0, 0, _ALLOW),
    ]
    for name, number in calls.items():
        verdict = verdicts.get(name, [(_RETURN, 0, 0, missing)])
        steps += [(_IF_EQUAL, 0, len(verdict), number), *verdict]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _choice(argument: int, values: tuple[int, ...], among: int, otherwise: int) -> list[_Instruction]:
    """One answer if an argument is among the values, another one if not."""
    tests = [(_IF_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [(_LOAD, 0, 0, argument), *tests, (_RETURN, 0, 0, otherwise), (_RETURN, 0, 0, among)]
