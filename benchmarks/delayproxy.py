"""A TCP proxy on 127.0.0.1 that gives a local server a distance: bytes arrive half a round trip later, a new connection a whole one."""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def _deliver(queue: asyncio.Queue[tuple[float, bytes] | None], writer: asyncio.StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    while (item := await queue.get()) is not None:
        due, data = item
        await asyncio.sleep(max(0.0, due - loop.time()))
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Bytes keep their order and their distances; the reader is not held back."""
    queue: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
    delivering = asyncio.create_task(_deliver(queue, writer))
    try:
        while data := await reader.read(1 << 16):
            queue.put_nowait((asyncio.get_running_loop().time() + delay_s, data))
    finally:
        queue.put_nowait(None)
        await delivering


async def serve(upstream_port: int, round_trip_s: float) -> None:
    """Prints the port it listens on, then serves until it is ended."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(round_trip_s)
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", upstream_port)
        with contextlib.suppress(OSError):
            pumps = (_pump(reader, up_writer, round_trip_s / 2), _pump(up_reader, writer, round_trip_s / 2))
            await asyncio.gather(*pumps, return_exceptions=True)
        for each in (writer, up_writer):
            each.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
