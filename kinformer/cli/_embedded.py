"""An apiserver inside this process, on a loopback socket, with a kubeconfig that leads to it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kinformer.cli._complaint import Complaint
from kinformer.cli._etcd import etcd_storage
from kinformer.cli._extras import require

__all__ = ["Embedded", "embedded"]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Where the server is, and the file that says so."""

    url: str
    kubeconfig: Path

    def __str__(self) -> str:
        return f"apiserver:  {self.url}\nkubeconfig: {self.kubeconfig}\n"


@asynccontextmanager
async def embedded(
    *, port: int = 0, kubeconfig: Path | None = None, etcd: str = "", tls: bool = False, rbac: bool = False
) -> AsyncIterator[Embedded]:
    """Serve until the block ends.

    Args:
        port: Where to listen; 0 takes a free port.
        kubeconfig: Which file to write, and to leave behind; ``None`` writes a temporary one.
        etcd: The address of the etcd that holds the objects, see ``etcd_storage``; in memory without.
        tls: Whether to speak HTTPS.
        rbac: Whether roles decide who may do what; the kubeconfig is that of an administrator.

    Raises:
        Complaint: An extra is missing, the etcd cannot be reached, the port is taken, or the file cannot be written or is
            somebody else's.
    """
    require("apiserver", "starlette", "uvicorn", "jsonpatch", "yaml", *(["cryptography"] if tls else []))
    from kinformer.apiserver import ApiServer, Rbac

    async with AsyncExitStack() as resources:
        storage = await resources.enter_async_context(etcd_storage(etcd)) if etcd else None
        server = await resources.enter_async_context(
            ApiServer(storage=storage, auth=Rbac() if rbac else None)
        )
        try:
            endpoint = await resources.enter_async_context(server.serve(port=port, tls=tls))
            folder = resources.enter_context(TemporaryDirectory(prefix="kinformer-"))
            path = endpoint.write_kubeconfig(kubeconfig or Path(folder) / "kubeconfig")
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise Complaint(where + (error.strerror or str(error))) from error
        yield Embedded(endpoint.url, path.resolve())
