"""Commands on the network of agents' programs: rules, hosts spoken to, open ports. Rules are the person's alone."""

from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.agent import SessionId
from fourhands.commands.base import Nothing
from fourhands.core.registry import Contribution
from fourhands.providers.egress.hosts import THIS_MACHINE, HostPattern
from fourhands.providers.egress.network_log import HostTraffic
from fourhands.providers.egress.ports import OpenPort
from fourhands.providers.egress.rules import NetworkRule, rule_key
from fourhands.providers.view import cell_name
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.network", scope="see")

HostArgument = Annotated[
    str, Meta(min_length=1, max_length=300, description=f"A host name, such as example.org, or {THIS_MACHINE}:PORT.")
]


class NetworkList(Struct, frozen=True, kw_only=True, rename="camel"):
    """The rules that hold now."""

    mode: str
    rules: tuple[NetworkRule, ...]


@commands.add("list", label="List network rules", actors=("person",), read_only=True, example={})
async def list_rules(bench: Workbench) -> NetworkList:
    """List the hosts that agents' programs may reach or never reach, and where each rule comes from."""
    return NetworkList(mode=bench.settings.sandbox.network, rules=bench.network.gatekeeper.rules.list())


@commands.add("allow", label="Allow host", actors=("person",), hand=True, example={"host": "example.org"})
async def allow_host(
    bench: Workbench,
    *,
    host: HostArgument,
    allow: Annotated[bool, Meta(description="False: never, without a question.")] = True,
) -> Nothing:
    """Allow agents' programs in this workspace to reach a host, from now on; or never."""
    await bench.network.gatekeeper.rules.store(_key(host), allowed=allow)
    return Nothing()


@commands.add("forget", label="Forget network rule", actors=("person",), hand=True)
async def forget_host(bench: Workbench, *, host: HostArgument) -> Nothing:
    """Drop your answers about a host, so that you are asked again."""
    await bench.network.gatekeeper.rules.forget(_key(host))
    return Nothing()


class NetworkHosts(Struct, frozen=True, kw_only=True, rename="camel"):
    """The hosts, the one used last first."""

    hosts: tuple[HostTraffic, ...]


@commands.add("hosts", label="Show hosts used", actors=("person",), read_only=True)
async def show_hosts(bench: Workbench, *, session_id: SessionId) -> NetworkHosts:
    """Show the hosts that an agent's programs have spoken to in this session, with the bytes sent and received."""
    session = bench.sessions.get(session_id).id
    return NetworkHosts(hosts=bench.network.gatekeeper.log.hosts(cell_name(bench.settings.sandbox, session)))


class NetworkPorts(Struct, frozen=True, kw_only=True, rename="camel"):
    """The open ports."""

    ports: tuple[OpenPort, ...]


@commands.add("ports", label="List open ports", read_only=True, example={})
async def list_ports(bench: Workbench) -> NetworkPorts:
    """List the ports of programs in sandboxes, and the ports of 127.0.0.1 at which the person reaches them."""
    return NetworkPorts(ports=tuple(bench.network.open_ports()))


def _key(host: str) -> str:
    private = host.startswith("private:")
    pattern = HostPattern.parse(host.removeprefix("private:"))
    return rule_key(pattern.name, pattern.port or 0, private=private)
