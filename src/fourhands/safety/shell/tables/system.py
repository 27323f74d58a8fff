"""Programs that change files, accounts, services or the machine (C5)."""

from fourhands.safety.shell.levels import DANGEROUS, SAFE, UNKNOWN
from fourhands.safety.shell.options import Tool, words


def _all(names: str, tool: Tool) -> dict[str, Tool]:
    return dict.fromkeys(names.split(), tool)


def _bad(reason: str, rule: str = "C5.5", **changes: object) -> Tool:
    return Tool(rank=DANGEROUS, reason=reason, rule=rule, **changes)  # type: ignore[arg-type]  # fields of Tool


def _ask(reason: str, rule: str = "C5.2", **changes: object) -> Tool:
    return Tool(rank=UNKNOWN, reason=reason, rule=rule, **changes)  # type: ignore[arg-type]  # fields of Tool


_COPY = words("-t -S --target-directory --suffix --backup -m -o -g --mode --owner --group")

SYSTEM: dict[str, Tool] = {
    **_all("unlink shred truncate wipe srm", _bad("deletes or empties files", "C5.1")),
    **_all("dd dcfldd ddrescue", _bad("copies raw data over files or devices")),
    **_all(
        "mkfs mke2fs mkswap mkntfs mkdosfs fsck e2fsck resize2fs tune2fs xfs_repair wipefs debugfs btrfs zfs "
        "zpool lvm badblocks",
        _bad("makes or changes a file system"),
    ),
    **_all(
        "fdisk sfdisk cfdisk gdisk sgdisk parted partprobe pvcreate pvremove vgcreate vgremove lvcreate "
        "lvremove lvextend lvreduce "
        "mdadm cryptsetup losetup dmsetup hdparm nvme blkdiscard blockdev",
        _bad("changes partitions or volumes"),
    ),
    **_all("mount umount swapon swapoff fusermount pivot_root findfs", _bad("changes mounts or swap")),
    **_all("insmod rmmod modprobe depmod kexec sysctl dkms", _bad("changes the kernel")),
    **_all("iptables ip6tables nft ufw firewall-cmd ipset ebtables arptables pfctl", _bad("changes the firewall")),
    **_all(
        "ifup ifdown ifconfig route iwconfig nmcli brctl tc ethtool wpa_cli dhclient", _bad("changes network links")
    ),
    **_all("hwclock ntpdate timedatectl chronyd", _bad("sets the clock")),
    **_all("hostnamectl localectl domainname", _bad("changes the machine's settings")),
    **_all(
        "useradd userdel usermod adduser deluser groupadd groupdel groupmod addgroup delgroup passwd chpasswd "
        "gpasswd chage chsh chfn "
        "vipw vigr visudo pwconv pwunconv",
        _bad("changes accounts or passwords"),
    ),
    **_all("at batch atrm", _bad("runs commands later")),
    **_all("shutdown reboot halt poweroff init telinit rtcwake pm-suspend", _bad("stops the machine")),
    **_all("pkill killall killall5 skill snice xkill", _bad("ends processes by name")),
    **_all(
        "update-alternatives update-rc.d update-grub grub-install grub-mkconfig efibootmgr ldconfig setcap",
        _bad("changes the system"),
    ),
    **_all("chkconfig rc-update", _bad("changes services")),
    **_all(
        "setenforce semodule semanage setsebool apparmor_parser aa-disable aa-teardown",
        _bad("changes the machine's protection"),
    ),
    **_all("eject setterm loadkeys openvt chvt", _bad("changes the machine's devices")),
    "rmdir": _ask("removes empty directories", operands="name"),
    "cp": _ask("copies files", operands="last", takes=_COPY),
    "mv": _ask("moves files", operands="last", takes=_COPY),
    "ln": _ask("makes links", operands="last", takes=_COPY),
    "install": _ask("copies files", operands="last", takes=_COPY),
    "tee": _ask("writes files", operands="write"),
    "sponge": _ask("writes a file", operands="write"),
    "split": _ask(
        "writes files", operands="second", takes=words("-a -b -C -l -n -t --bytes --lines"), runs=words("--filter")
    ),
    "csplit": _ask("writes files", takes=words("-b -f -n"), skip=0),
    "patch": _ask(
        "changes files", operands="read", writes=words("-o -r --output"), takes=words("-i -p -d -D --input --directory")
    ),
    **_all("mkfifo mknod", _ask("creates special files", operands="made")),
    **_all(
        "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lzma unlzma lz4 compress uncompress pigz",
        _ask("replaces files by archives"),
    ),
    "history": Tool(
        rank=SAFE,
        operands="text",
        danger={"-c": "clears the history", "-d": "deletes from the history", "-w": "overwrites the history file"},
        ask={
            "-a": "writes history",
            "-r": "reads history",
            "-n": "reads history",
            "-s": "adds to the history",
            "-p": "expands",
        },
        rule="C5.5",
    ),
    "fc": _bad("runs commands from the history", "C2.6"),
    "dmesg": Tool(
        ask={"-H": "opens a pager", "--human": "opens a pager"},
        danger=dict.fromkeys(
            words("-C -c -D -E -n --clear --read-clear --console-off"), "clears or changes the kernel log"
        ),
        rule="C5.5",
    ),
    "lastlog": Tool(
        danger={"-C": "clears logs", "--clear": "clears logs", "-S": "changes logs", "--set": "changes logs"}
    ),
    **_all("last lastb", Tool()),
    "logrotate": _bad("clears logs"),
    "journalctl": Tool(
        operands="text",
        takes=words(
            "-u -n -p -S -U -o -b -t -g --unit --lines --priority --since --until --output --boot --identifier --grep"
        ),
        danger=dict.fromkeys(
            ("--vacuum-size", "--vacuum-time", "--vacuum-files", "--setup-keys"),
            "C5.5 deletes logs",
        ),
        ask=dict.fromkeys(("--rotate", "--flush", "--sync", "--relinquish-var"), "changes how logs are kept"),
    ),
    "crontab": _bad(
        "replaces a cron table",
    ),
    "ionice": _ask("changes a priority"),
    "renice": _ask("changes a priority", operands="text"),
    "chcon": _ask("changes security labels"),
    "gcore": _bad("reads the memory of a process", "C5.4"),
    "mail": _ask("sends mail", "C7"),
    **_all("export declare typeset readonly local", Tool(operands="name", rule="C3.4", reason="sets variables")),
    **_all("unset", Tool(operands="name", reason="forgets variables")),
    "let": Tool(operands="name", reason="computes"),
    "logger": _ask("writes to the log", "C7", operands="text"),
    "wall": _ask("writes to all terminals", "C7"),
    "kill": _ask("ends a process", "C5.5", operands="text"),
    "stty": _ask("changes the terminal", "C7", operands="text"),
    "reset": _ask("resets the terminal", "C7", operands="text"),
    "ip": _ask("shows or changes network links", "C5.5", operands="text"),
    "systemctl": _bad("changes services"),
    "service": _bad("changes services"),
    "launchctl": _bad("changes services"),
}
# Commands of Windows, which other systems have under other names; only where the name itself is typed: `./format`, a
# project's own script, is another thing.
WINDOWS = {
    **dict.fromkeys(("del", "erase"), "deletes files"),
    **dict.fromkeys(("rd", "deltree"), "deletes directories"),
    "format": "empties a disk",
}

SYSTEM_PREFIXES = {"mkfs.": "makes a file system", "fsck.": "changes a file system", "mount.": "changes mounts"}

# Subcommands that only look (C5.5, C7).
LOOKS: dict[str, frozenset[str]] = {
    "systemctl": words(
        "status show cat is-active is-enabled is-failed is-system-running list-units list-unit-files "
        "list-timers list-sockets "
        "list-dependencies list-jobs list-machines list-paths list-automounts get-default show-environment help"
    ),
    "service": words("--status-all"),
    "timedatectl": words("status show list-timezones timesync-status show-timesync"),
    "hostnamectl": words("status"),
    "localectl": words("status list-locales list-keymaps"),
    "nmcli": words(""),
    "launchctl": words("list print version"),
    "ufw": words("status version"),
    "loginctl": words("list-sessions list-users session-status user-status show-session show-user list-seats"),
    "zpool": words("list status iostat history"),
    "zfs": words("list get"),
    "btrfs": words("version"),
}
LOOKS_BARE = words("systemctl timedatectl hostnamectl localectl mount ifconfig route loginctl")
LOOK_OPTIONS: dict[str, frozenset[str]] = {
    "fdisk": words("-l --list"),
    "sfdisk": words("-l --list -d --dump"),
    "parted": words("-l --list"),
    "swapon": words("-s --show --summary"),
    "losetup": words("-a -l --all --list"),
    "crontab": words("-l"),
    "sysctl": words("-a --all -n"),
    "iptables": words("-L -S --list --list-rules"),
    "mount": words("-l"),
    "route": words("-n"),
    "ifconfig": words("-a"),
    "chage": words("-l"),
    "passwd": words("-S"),
}
