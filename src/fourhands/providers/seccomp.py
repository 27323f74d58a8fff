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
_AND, _IF_ANY, _ALWAYS = 0x54, 0x45, 0x05
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD, _FOURTH = 0, 4, 16, 24, 32, 40
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000

_X32 = 0x40000000  # from here on, numbers are those of x32; no other table is that long
_SKIPPED = 0xFFFFFFFF  # a debugger has taken the call away and has set its result

# Linux' own numbers: the modules of other systems have others, or lack the names, and this one is imported there too.
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_PUSHING = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_MAKING = (1, 8)  # socket and socketpair, as socketcall numbers them
_SENDING = (11, 16, 20)  # sendto, sendmsg and sendmmsg in the same way
_INTERNET, _NETLINK = (2, 10), 16
_STREAM, _TYPES = 1, 0xF
_TCP = (0, 6)
_FAST_OPEN = 0x20000000  # a connection that is made by sending, past the rules for connections

# Refused only where no namespace is around the program.
_SHARED = {"shmget", "shmat", "semget", "msgget", "ipc", "mq_open"}
_ONLY_WITHOUT_NAMESPACES = {*_SHARED, "sendto", "sendmsg", "sendmmsg", "prlimit64"}

_Instruction = tuple[int, int, int, int]

# For each machine its own architecture and the one of its 32-bit programs, as the kernel's audit numbers them.
_CALLS: dict[str, dict[int, dict[str, int]]] = {
    "x86_64": {
        0xC000003E: {"socket": 41, "socketpair": 53, "ioctl": 16, "add_key": 248, "request_key": 249, "keyctl": 250,
                     "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "sendto": 44, "sendmsg": 46,
                     "sendmmsg": 307, "shmget": 29, "shmat": 30, "semget": 64, "msgget": 68, "mq_open": 240,
                     "prlimit64": 302},
        0x40000003: {"socket": 359, "socketpair": 360, "ioctl": 54, "add_key": 286, "request_key": 287, "keyctl": 288,
                     "bpf": 357, "userfaultfd": 374, "io_uring_setup": 425, "socketcall": 102, "sendto": 369,
                     "sendmsg": 370, "sendmmsg": 345, "shmget": 395, "shmat": 397, "semget": 393, "msgget": 399,
                     "ipc": 117, "mq_open": 277, "prlimit64": 340},
    },
    "aarch64": {
        0xC00000B7: {"socket": 198, "socketpair": 199, "ioctl": 29, "add_key": 217, "request_key": 218, "keyctl": 219,
                     "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "sendto": 206, "sendmsg": 211,
                     "sendmmsg": 269, "shmget": 194, "shmat": 196, "semget": 190, "msgget": 186, "mq_open": 180,
                     "prlimit64": 261},
        0x40000028: {"socket": 281, "socketpair": 288, "ioctl": 54, "add_key": 309, "request_key": 310, "keyctl": 311,
                     "bpf": 386, "userfaultfd": 388, "io_uring_setup": 425, "sendto": 290, "sendmsg": 296,
                     "sendmmsg": 374, "shmget": 307, "shmat": 305, "semget": 299, "msgget": 303, "mq_open": 274,
                     "prlimit64": 369},
    },
}  # fmt: skip


def program(machine: str, *, namespaces: bool = True, tcp: bool = True) -> bytes:
    """Build the filter for a machine, as `bwrap --seccomp` reads it; empty where there is none.

    Without `namespaces` it stands in for them: no sockets of this machine, no internet but TCP as its rules allow, no
    shared memory or queues, no limits of other processes. Without `tcp`, for kernels without such rules, no internet.
    """
    if machine not in _CALLS:
        return b""
    steps: list[_Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for architecture, calls in _CALLS[machine].items():
        body = _body(calls, namespaces, tcp)
        # A jump is at most 255 instructions long, so a longer body is skipped by a jump that may be longer.
        steps += [(_IF_EQUAL, 1, 0, architecture), (_ALWAYS, 0, 0, len(body)), *body]
    steps.append((_RETURN, 0, 0, _ERROR | errno.ENOSYS))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _body(calls: dict[str, int], namespaces: bool, tcp: bool) -> list[_Instruction]:
    """Build the instructions that decide one architecture's system calls."""
    # What a kernel without the thing itself would answer: programs are prepared for that.
    missing, forbidden = _ERROR | errno.ENOSYS, _ERROR | errno.EPERM
    families = _choice(_FIRST, _FAMILIES, _ALLOW, _ERROR | errno.EAFNOSUPPORT)
    verdicts = {
        "socket": families if namespaces else _bare_socket(tcp),
        "socketpair": families,
        "socketcall": _choice(_FIRST, _MAKING if namespaces else (*_MAKING, *_SENDING), missing, _ALLOW),
        "ioctl": _choice(_SECOND, _PUSHING, forbidden, _ALLOW),
        "bpf": [(_RETURN, 0, 0, forbidden)],
        "userfaultfd": [(_RETURN, 0, 0, forbidden)],
        "sendto": _flagged(_FOURTH, _FAST_OPEN, forbidden),
        "sendmsg": _flagged(_THIRD, _FAST_OPEN, forbidden),
        "sendmmsg": _flagged(_FOURTH, _FAST_OPEN, forbidden),
        "prlimit64": _choice(_FIRST, (0,), _ALLOW, forbidden),
    }
    steps: list[_Instruction] = [
        (_LOAD, 0, 0, _NUMBER),
        (_IF_NOT_LESS, 0, 3, _X32),
        (_IF_EQUAL, 1, 0, _SKIPPED),
        (_RETURN, 0, 0, missing),
        (_RETURN, 0, 0, _ALLOW),
    ]
    for name, number in calls.items():
        if namespaces and name in _ONLY_WITHOUT_NAMESPACES:
            continue
        verdict = verdicts.get(name, [(_RETURN, 0, 0, missing)])
        steps += [(_IF_EQUAL, 0, len(verdict), number), *verdict]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _bare_socket(tcp: bool) -> list[_Instruction]:
    """Allow netlink, and TCP: not its kin (MPTCP, SCTP), which the kernel's rules for TCP may not know."""
    forbidden = _ERROR | errno.EPERM
    stream: list[_Instruction] = [
        (_LOAD, 0, 0, _SECOND),
        (_AND, 0, 0, _TYPES),
        (_IF_EQUAL, 1, 0, _STREAM),
        (_RETURN, 0, 0, forbidden),
        *_choice(_THIRD, _TCP, _ALLOW, forbidden),
    ]
    if not tcp:
        stream = [(_RETURN, 0, 0, forbidden)]
    return [
        (_LOAD, 0, 0, _FIRST),
        (_IF_EQUAL, 0, 1, _NETLINK),
        (_RETURN, 0, 0, _ALLOW),
        (_IF_EQUAL, 2, 0, _INTERNET[0]),
        (_IF_EQUAL, 1, 0, _INTERNET[1]),
        (_RETURN, 0, 0, forbidden),
        *stream,
    ]


def _flagged(argument: int, flag: int, answer: int) -> list[_Instruction]:
    """One answer if an argument has a flag; allowed if not."""
    return [(_LOAD, 0, 0, argument), (_IF_ANY, 0, 1, flag), (_RETURN, 0, 0, answer), (_RETURN, 0, 0, _ALLOW)]


def _choice(argument: int, values: tuple[int, ...], among: int, otherwise: int) -> list[_Instruction]:
    """One answer if an argument is among the values, another one if not."""
    tests = [(_IF_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [(_LOAD, 0, 0, argument), *tests, (_RETURN, 0, 0, otherwise), (_RETURN, 0, 0, among)]
