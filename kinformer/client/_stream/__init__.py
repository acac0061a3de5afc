"""The transport that carries LIST and WATCH: HTTP/1.1 over asyncio, with nothing between the socket and the reader.

``_answer``, ``_question`` and ``_idle`` decide and know no socket; ``_connection``, ``_dial`` and ``_transport`` wait.
"""

from kinformer.client._stream._keepalive import SOCKET_OPTIONS
from kinformer.client._stream._transport import StreamTransport

__all__ = ["SOCKET_OPTIONS", "StreamTransport"]
