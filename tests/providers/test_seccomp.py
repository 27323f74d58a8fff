"""The filter of system calls: its table, read by a small interpreter, and the kernel's answers in a real sandbox."""

import asyncio
import errno
import os
import socket
import struct
import subprocess
import tempfile
from collections.abc import AsyncIterator

import pytest
from tests.kit.isolation import Yard, new_yard, refuse

from fourhands.providers import entrypoint, seccomp
from fourhands.providers.base import CellDirs
from fourhands.providers.bubblewrap import Bubblewrap, SandboxTools
from fourhands.settings import BubblewrapSettings

X86_64, I386, AARCH64, ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
ALLOWED = 0
HIGH = 1 << 32  # the kernel ignores that half of an int, and so must the filter
VSOCK, TIOCSTI, TIOCLINUX, TCGETS = 40, 0x5412, 0x541C, 0x5401


def verdict(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What a filter answers to a call: an error number, or 0 when it is allowed."""
    words = [value & 0xFFFFFFFFFFFFFFFF for value in (*arguments, 0, 0, 0, 0, 0, 0)][:6]
    call = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *words)
    steps = list(struct.iter_unpack("<HBBI", program))
    place = loaded = 0
    while True:
        code, yes, no, value = steps[place]
        place += 1
        if code == 0x20:
            (loaded,) = struct.unpack_from("<I", call, value)
        elif code == 0x54:
            loaded &= value
        elif code == 0x05:
            place += value
        elif code in (0x15, 0x35, 0x45):
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            place += yes if holds else no
        else:
            assert code == 0x06
            assert value & 0xFFFF0000 in (0x7FFF0000, 0x00050000), "never a signal"
            return value & 0xFFFF if value & 0xFFFF0000 == 0x00050000 else ALLOWED


# socket, socketpair, ioctl; the keys' three and io_uring; bpf and userfaultfd; a few that every program needs
TABLES = [
    ("x86_64", X86_64, (41, 53, 16), (248, 249, 250, 425), (321, 323), (0, 39, 56, 57, 59, 101, 272, 317, 435)),
    ("x86_64", I386, (359, 360, 54), (286, 287, 288, 425), (357, 374), (1, 3, 11, 26, 41, 120, 248, 250, 310)),
    ("aarch64", AARCH64, (198, 199, 29), (217, 218, 219, 425), (280, 282), (63, 97, 117, 220, 221, 277, 435)),
    ("aarch64", ARM, (281, 288, 54), (309, 310, 311, 425), (386, 388), (1, 3, 11, 26, 120, 198, 219, 0xF0005)),
]


# sendto, sendmsg, sendmmsg; prlimit64; shared memory, semaphores, queues
BARE = [
    ("x86_64", X86_64, 41, (44, 46, 307), 302, (29, 30, 64, 68, 240)),
    ("x86_64", I386, 359, (369, 370, 345), 340, (395, 397, 393, 399, 117, 277)),
    ("aarch64", AARCH64, 198, (206, 211, 269), 261, (194, 196, 190, 186, 180)),
    ("aarch64", ARM, 281, (290, 296, 374), 369, (307, 305, 299, 303, 274)),
]
FAST_OPEN, MPTCP = 0x20000000, 262


@pytest.mark.parametrize(("machine", "architecture", "making", "sending", "limiting", "shared"), BARE)
def test_without_namespaces_only_tcp_and_netlink_are_left(
    machine: str, architecture: int, making: int, sending: tuple[int, int, int], limiting: int, shared: tuple[int, ...]
) -> None:
    strict = seccomp.program(machine, namespaces=False)
    flags = socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    for family in range(64):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            for protocol in (0, 6, 17, 132, MPTCP):
                inet = family in (socket.AF_INET, socket.AF_INET6) and kind == socket.SOCK_STREAM and protocol in (0, 6)
                allowed = inet or family == socket.AF_NETLINK
                for more in (0, flags):
                    answer = verdict(strict, architecture, making, family, kind | more, protocol)
                    assert (answer == ALLOWED) is allowed, (family, kind, protocol)
    assert verdict(strict, architecture, sending[0], 3, 0, 1, FAST_OPEN) == errno.EPERM
    assert verdict(strict, architecture, sending[1], 3, 0, FAST_OPEN) == errno.EPERM
    assert verdict(strict, architecture, sending[2], 3, 0, 1, FAST_OPEN | 0x4000) == errno.EPERM
    assert {verdict(strict, architecture, number, 3, 0, 0x4000, 0x4000) for number in sending} == {ALLOWED}
    assert {verdict(strict, architecture, number) for number in shared} == {errno.ENOSYS}
    assert verdict(strict, architecture, limiting, 0) == ALLOWED
    assert verdict(strict, architecture, limiting, 1234) == errno.EPERM
    none = seccomp.program(machine, namespaces=False, tcp=False)
    assert verdict(none, architecture, making, socket.AF_INET, socket.SOCK_STREAM) == errno.EPERM
    if architecture == I386:
        assert {verdict(strict, architecture, 102, call) for call in (1, 8, 11, 16, 20)} == {errno.ENOSYS}
        assert verdict(strict, architecture, 102, 3) == ALLOWED


@pytest.mark.parametrize(("machine", "architecture", "argued", "missing", "forbidden", "needed"), TABLES)
def test_what_has_no_namespace_is_refused_and_all_else_allowed(
    machine: str,
    architecture: int,
    argued: tuple[int, int, int],
    missing: tuple[int, ...],
    forbidden: tuple[int, ...],
    needed: tuple[int, ...],
) -> None:
    program = seccomp.program(machine)
    *making, ioctl = argued
    for number in making:
        for family in range(64):
            known = family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
            expected = ALLOWED if known else errno.EAFNOSUPPORT
            assert verdict(program, architecture, number, family, 1, 0) == expected
            assert verdict(program, architecture, number, family | HIGH, 1, 0) == expected
    for request, expected in ((TIOCSTI, errno.EPERM), (TIOCLINUX, errno.EPERM), (TCGETS, ALLOWED), (0, ALLOWED)):
        for first in (0, TIOCSTI):
            assert verdict(program, architecture, ioctl, first, request) == expected
            assert verdict(program, architecture, ioctl, first, request | HIGH) == expected
    assert {verdict(program, architecture, number, 1, 1) for number in missing} == {errno.ENOSYS}
    assert {verdict(program, architecture, number, 1, 1) for number in forbidden} == {errno.EPERM}
    assert {verdict(program, architecture, number, VSOCK, TIOCSTI) for number in needed} == {ALLOWED}
    named = {*argued, *missing, *forbidden, *((102,) if architecture == I386 else ())}
    refused = {number for number in range(600) if verdict(program, architecture, number, VSOCK, TIOCSTI)}
    assert refused == named - {102}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_call_of_an_unknown_table_does_not_exist(machine: str) -> None:
    program = seccomp.program(machine)
    native = X86_64 if machine == "x86_64" else AARCH64
    for number in (0, 39, 41, 250, 520):
        assert verdict(program, native, number | 0x40000000) == errno.ENOSYS  # x32
        assert verdict(program, 0xC0000016, number) == errno.ENOSYS
    assert verdict(program, native, -1) == ALLOWED  # a debugger has put its own result there


def test_the_old_way_to_a_socket_makes_none_and_still_uses_them() -> None:
    program = seccomp.program("x86_64")
    answers = {call: verdict(program, I386, 102, call, 0xFFFF0000) for call in range(1, 21)}
    assert {call for call, answer in answers.items() if answer} == {1, 8}
    assert answers[1] == answers[8] == errno.ENOSYS
    assert verdict(program, X86_64, 102, 1) == ALLOWED  # getuid


def test_other_machines_have_no_filter() -> None:
    assert seccomp.program("riscv64") == b""
    assert seccomp.program("") == b""


# -- in a real sandbox -----------------------------------------------------------------------------------------------


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


async def ready(yard: Yard, *, network: bool = False, tools: SandboxTools | None = None) -> Bubblewrap:
    settings = BubblewrapSettings(network=network, max_processes=0, max_memory=0)
    provider = Bubblewrap(settings, env=yard.env, tools=tools)
    probe = await provider.probe()
    if not probe.works:
        refuse(probe.detail)
    await provider.prepare(str(yard.workspace), ())
    return provider


async def run(provider: Bubblewrap, yard: Yard, script: str) -> str:
    dirs = [tempfile.mkdtemp(dir=yard.root) for _ in range(2)]
    wrapped = provider.enclose(["/bin/sh", "-c", script], CellDirs("run_filter", *dirs))
    done = await asyncio.to_thread(
        subprocess.run, list(wrapped.argv), env=dict(wrapped.env), cwd=wrapped.cwd, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=40, check=False,
    )  # fmt: skip
    await provider.clean_up()
    assert done.returncode == 0, done.stderr
    return done.stdout


def need_x86() -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86_64")


async def test_the_kernel_refuses_inside_what_the_filter_names(yard: Yard) -> None:
    need_x86()
    calls = {
        f"41, {VSOCK}, 1, 0": errno.EAFNOSUPPORT,
        f"41, {VSOCK | HIGH}, 1, 0": errno.EAFNOSUPPORT,
        "41, 38, 5, 0": errno.EAFNOSUPPORT,  # AF_ALG
        "41, 1, 1, 0": 0,
        "41, 2, 1, 0": 0,
        "41, 16, 3, 0": 0,
        "248, 0, 0, 0, 0, 0": errno.ENOSYS,
        "249, 0, 0, 0, 0": errno.ENOSYS,
        "250, 0, -3, 0": errno.ENOSYS,
        "425, 8, 0": errno.ENOSYS,
        f"16, 0, {TIOCSTI}, 0": errno.EPERM,  # on /dev/null, of which the kernel itself would say ENOTTY
        f"16, 0, {TIOCLINUX | HIGH}, 0": errno.EPERM,
        f"16, 0, {TCGETS}, 0": errno.ENOTTY,
        "39": 0,
        f"{39 | 0x40000000}": errno.ENOSYS,
    }
    tries = "".join(f"$! = 0; print syscall({call}) < 0 ? $! + 0 : 0, qq(\\n);" for call in calls)
    script = f"perl -e '{tries}'; ls /proc/self/fd | wc -l; cat /proc/keys /proc/key-users 2>/dev/null | wc -c"
    told = [int(line) for line in (await run(await ready(yard, network=True), yard, script)).split()]
    assert dict(zip(calls, told, strict=False)) == calls
    assert told[len(calls) :] == [4, 0]  # no descriptor stays open, no name of a key can be read


def small_program(number: int, *arguments: int) -> bytes:
    """A 32-bit program that makes one call and exits with its error number, or with 0."""
    loads = b"".join(
        opcode + struct.pack("<I", value) for opcode, value in zip((b"\xbb", b"\xb9", b"\xba"), arguments, strict=False)
    )
    code = b"\xb8" + struct.pack("<I", number) + loads + b"\xcd\x80"
    # xor ebx,ebx; test eax,eax; jns +4; sub ebx,eax; nop; nop; mov eax,1; int 0x80
    code += b"\x31\xdb\x85\xc0\x79\x04\x29\xc3\x90\x90\xb8\x01\x00\x00\x00\xcd\x80"
    base, start = 0x08048000, 52 + 32
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + start, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    size = start + len(code)
    return head + struct.pack("<8I", 1, 0, base, base, size, size, 5, 0x1000) + code


async def test_32_bit_programs_run_and_meet_the_same_refusals(yard: Yard) -> None:
    need_x86()
    cases = {
        "unix": (small_program(359, 1, 1, 0), 0),
        "vsock": (small_program(359, VSOCK, 1, 0), errno.EAFNOSUPPORT),
        "old": (small_program(102, 1, 0), errno.ENOSYS),
        "keys": (small_program(288, 0, 0xFFFFFFFD, 0), errno.ENOSYS),
        "pid": (small_program(20), 0),
    }
    for name, (content, _) in cases.items():
        (yard.workspace / name).write_bytes(content)
        (yard.workspace / name).chmod(0o755)
    try:
        await asyncio.to_thread(subprocess.run, [yard.workspace / "pid"], check=True, timeout=20)
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    out = await run(await ready(yard), yard, "".join(f"./{name}; echo $?;" for name in cases))
    assert dict(zip(cases, map(int, out.split()), strict=True)) == {name: code for name, (_, code) in cases.items()}


async def test_where_there_is_no_filter_the_probe_says_so(yard: Yard) -> None:
    provider = await ready(yard, tools=SandboxTools(call_filter=b""))
    assert "NOT FILTERED" in (await provider.probe()).detail
    assert await run(provider, yard, "echo fine") == "fine\n"


async def test_a_filter_that_the_kernel_does_not_take_is_a_refusal(yard: Yard) -> None:
    await ready(yard)
    tools = SandboxTools(call_filter=bytes(8))
    assert not (await Bubblewrap(BubblewrapSettings(), env=yard.env, tools=tools).probe()).works


# -- on its way ------------------------------------------------------------------------------------------------------


# With the behaviour of bash 5.0 a here-document is a file, with that of later ones, and in other shells, a pipe.
@pytest.mark.parametrize(("shell", "env"), [("sh", {}), ("bash", {}), ("bash", {"BASH_COMPAT": "5.0"})])
def test_a_filter_reaches_the_builder_byte_by_byte_through_any_shell(shell: str, env: dict[str, str]) -> None:
    data = bytes(range(256)) * 3 + bytes(8)
    builder = ["/bin/sh", "-c", f"exec cat <&{entrypoint.FILTER_FD}"]
    _, *words = entrypoint.entering([], builder, signals=True, call_filter=data)
    done = subprocess.run(
        [shell, *words], env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, timeout=20, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == data


def test_a_filter_that_cannot_be_passed_on_stops_the_launch() -> None:
    command = entrypoint.entering([], ["/bin/echo", "ran"], signals=False, call_filter=b"x")
    command[2] = command[2].replace("/proc/self/fd/", "/proc/self/none/")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (entrypoint.FAILED, "")
    assert "fourhands: cannot pass on the filter" in done.stderr
