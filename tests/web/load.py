"""Many pages at once: clients that listen, ask for the state and play, while a tree search runs.

usage: load.py URL [CLIENTS] [SECONDS]       URL as `fianchetto play --no-open` prints it

Each client has a game of its own, listens to its events, asks for the state ten times a second and plays a move every second.
Prints the times of the state route and fails on any error.
"""

import asyncio
import json
import sys
import time
from urllib.parse import urlsplit


async def ask(host, port, method, path, body=None):
    """The status and the JSON of an answer, on a connection of its own."""
    reader, writer = await asyncio.open_connection(host, port)
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    answer = await reader.read()
    writer.close()
    head, _, text = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(text)


async def listen(host, port, path, heard):
    reader, writer = await asyncio.open_connection(host, port, limit=1 << 20)
    writer.write(f"GET {path}/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    try:
        while line := await reader.readline():
            heard[0] += line.startswith(b"data: ")
    finally:
        writer.close()


async def client(host, port, delay, end, times, heard):
    # People do not all move in the same moment.
    await asyncio.sleep(delay)
    status, state = await ask(host, port, "POST", "/api/games", {})
    assert status == 201, state
    path = f"/api/games/{state['id']}"
    listening = asyncio.create_task(listen(host, port, path, heard))
    due = time.monotonic()
    while time.monotonic() < end:
        began = time.monotonic()
        status, state = await ask(host, port, "GET", path)
        times.append(time.monotonic() - began)
        assert status == 200, state
        if began >= due and state["turn"] == "white" and state["legal"]:
            due = began + 1
            move = {"ply": state["ply"], "move": state["legal"][0]["uci"]}
            status, answer = await ask(host, port, "POST", f"{path}/move", move)
            assert status == 200, answer
        elif state["outcome"]:
            status, answer = await ask(host, port, "POST", f"{path}/new", {})
            assert status == 200, answer
        await asyncio.sleep(max(0, 0.1 - (time.monotonic() - began)))
    listening.cancel()


async def main(url, clients=50, seconds=60):
    address = urlsplit(url)
    host, port = address.hostname, address.port
    _, search = await ask(host, port, "POST", "/api/games", {})
    path = f"/api/games/{search['id']}"
    seats = {"white": {"kind": "mcts", "nodes": 1_000_000}, "black": {"kind": "mcts", "nodes": 1_000_000}}
    await ask(host, port, "POST", f"{path}/settings", seats)
    times, heard = [], [0]
    listening = asyncio.create_task(listen(host, port, path, [0]))
    end = time.monotonic() + seconds
    await asyncio.gather(*(client(host, port, i / clients, end, times, heard) for i in range(clients)))
    _, state = await ask(host, port, "GET", path)
    listening.cancel()
    times.sort()
    shown = {name: f"{times[int(share * (len(times) - 1))] * 1e3:.1f} ms" for name, share in
             {"median": 0.5, "p99": 0.99, "longest": 1}.items()}
    print(f"{clients} clients, {len(times)} states, {heard[0]} events, search going on: {state['thinking']};", shown)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:4])))
