"""The client for asyncio, beside fake daemons."""

import asyncio
import logging
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
import znni
from fake_daemon import FakeDaemon, Held
from znni import wire
from znni.calls import async_client
from znni.pyramid import arrays, halvings

VOLUME = np.random.default_rng(5).integers(0, 255, (6, 7, 8)).astype(np.uint8)


async def happened(event):
    """Returns once an event of threads is set."""
    await asyncio.to_thread(event.wait)


class Heard(logging.Handler):
    """Sets `event` with the first line that is logged."""

    def __init__(self):
        super().__init__()
        self.event = threading.Event()

    def emit(self, record):
        self.event.set()


class AsyncClientTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    async def client(self, daemon, **options):
        return await self.enterAsyncContext(znni.AsyncClient(self.enterContext(daemon.served()), **options))

    def predict(self, client, output=None, **options):
        return client.predict("same", VOLUME, output, dtype="uint8", **{"progress": False, **options})

    def fail_on_log(self, record):
        self.fail(record.getMessage())

    async def cancelled(self, task, times=1):
        """Cancels a task and returns once it has ended, as it must."""
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with self.assertRaises(asyncio.CancelledError):
            await task

    async def test_answers(self):
        client = await self.client(FakeDaemon())
        self.assertEqual((await client.models())["same"], "ready")
        self.assertEqual((await client.model("same", "1")).version, "1")
        np.testing.assert_array_equal(await self.predict(client), VOLUME)
        path = str(self.folder / "o.npy")
        self.assertEqual(await self.predict(client, path), path)
        np.testing.assert_array_equal(np.load(path), VOLUME)

    async def test_many_at_once(self):
        client = await self.client(FakeDaemon())
        found = await asyncio.gather(*(self.predict(client) for _ in range(20)))
        for each in found:
            np.testing.assert_array_equal(each, VOLUME)

    async def test_outlooks(self):
        client = await self.client(FakeDaemon(part=(7, 8), voxel_seconds=2.0))
        header = wire.VolumeHeader(model_name="same", extent=wire.Extent(z=1, y=7, x=8))
        self.assertEqual((await client.outlook(header)).predicted_seconds, 112)

    async def test_errors(self):
        client = await self.client(FakeDaemon())
        with self.assertRaisesRegex(znni.NotFoundError, "unknown model: 'x'"):
            await client.model("x")
        with self.assertRaisesRegex(znni.InvalidError, "^pad: "):
            await self.predict(client, pad="x")

    async def test_progress_is_told_in_the_loop(self):
        seen, here = [], threading.get_ident()
        client = await self.client(FakeDaemon())
        await self.predict(client, progress=lambda *both: seen.append((threading.get_ident(), *both)))
        await asyncio.sleep(0)
        self.assertEqual(seen[-1], (here, VOLUME.size, VOLUME.size))

    async def test_a_cancelled_call_ends_at_the_daemon_and_leaves_no_output(self):
        for name, times in (("o.npy", 1), ("o.zarr", 1), ("o.ome.zarr", 3)):
            daemon = FakeDaemon([Held(150)])
            client = await self.client(daemon)
            task = asyncio.create_task(self.predict(client, str(self.folder / name)))
            await happened(daemon.held)
            await self.cancelled(task, times)
            self.assertEqual(list(self.folder.iterdir()), [])
            await happened(daemon.left)
            np.testing.assert_array_equal(await self.predict(client), VOLUME)

    async def test_a_cancelled_question(self):
        daemon = FakeDaemon()
        daemon.holds = True
        client = await self.client(daemon)
        task = asyncio.create_task(client.model("same"))
        await happened(daemon.held)
        await self.cancelled(task)
        await happened(daemon.left)

    async def test_cancelled_while_it_waits_for_a_daemon(self):
        heard, log = Heard(), logging.getLogger("znni")
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.WARNING)  # other tests may have raised it
        log.addHandler(heard)
        self.addCleanup(log.removeHandler, heard)
        async with znni.AsyncClient("127.0.0.1:1", retry_seconds=1e6) as client:
            task = asyncio.create_task(client.models())
            await happened(heard.event)
            await self.cancelled(task)

    async def test_cancelled_before_its_thread_is_free(self):
        daemon = FakeDaemon([Held(150)])
        with mock.patch.object(async_client, "_MOST_CALLS", 1):
            client = await self.client(daemon)
        first = asyncio.create_task(self.predict(client))
        await happened(daemon.held)
        second = asyncio.create_task(self.predict(client))
        await asyncio.sleep(0)
        await self.cancelled(second)
        self.assertFalse(first.done())
        await self.cancelled(first)
        self.assertEqual(len(daemon.headers), 1)

    async def test_cancelled_while_coarser_resolutions_are_made(self):
        reached, go_on, halve = threading.Event(), threading.Event(), arrays.halve

        def slow(*arguments):
            reached.set()
            go_on.wait()
            return halve(*arguments)

        client = await self.client(FakeDaemon())
        with mock.patch.object(arrays, "halve", slow), mock.patch.object(halvings, "MOST", 1):
            task = asyncio.create_task(self.predict(client, str(self.folder / "o.ome.zarr")))
            await happened(reached)
            task.cancel()
            await asyncio.sleep(0)
            go_on.set()
            with self.assertRaises(asyncio.CancelledError):
                await task
        self.assertEqual(list(self.folder.iterdir()), [])

    async def test_one_of_many_is_cancelled(self):
        held, other = FakeDaemon([Held(150)]), FakeDaemon()
        addresses = [self.enterContext(daemon.served()) for daemon in (held, other)]
        async with znni.AsyncClient(addresses) as client:
            task = asyncio.create_task(self.predict(client))
            await happened(held.held)
            np.testing.assert_array_equal(await self.predict(client), VOLUME)
            await self.cancelled(task)
        self.assertEqual((len(held.headers), len(other.headers)), (1, 1))

    def test_a_loop_that_is_interrupted(self):
        daemon, tasks = FakeDaemon([Held(150)]), []

        async def work(address):
            async with znni.AsyncClient(address) as client:
                tasks.append(asyncio.create_task(self.predict(client, str(self.folder / "o.npy"))))
                await happened(daemon.held)
                raise KeyboardInterrupt

        with daemon.served() as address, self.assertRaises(KeyboardInterrupt):
            asyncio.run(work(address))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
