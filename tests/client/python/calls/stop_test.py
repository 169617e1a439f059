"""Calls that are ended from another thread."""

import threading
import unittest

from znni.calls.stop import Stop, Stopped, check, ending, sleep, stopped_by


class StopTest(unittest.TestCase):
    def run_stopped(self, work, stop):
        """Returns what became of work in a thread that `stop` ends."""
        found = []

        def run():
            stopped_by(stop)
            try:
                found.append(work())
            except BaseException as error:
                found.append(type(error))

        thread = threading.Thread(target=run)
        thread.start()
        return thread, found

    def test_without_one_nothing_is_stopped(self):
        check()
        sleep(0)
        with ending(self.fail):
            pass

    def test_a_long_sleep_ends(self):
        stop, here = Stop(), threading.Event()
        thread, found = self.run_stopped(lambda: (here.set(), sleep(1e6)), stop)
        here.wait()
        stop.request()
        thread.join()
        self.assertEqual(found, [Stopped])

    def test_what_is_waited_for_is_ended(self):
        for error in (None, KeyError):
            stop, here, over = Stop(), threading.Event(), threading.Event()

            def work(here=here, over=over, error=error):
                with ending(over.set):
                    here.set()
                    over.wait()
                    if error:
                        raise error

            thread, found = self.run_stopped(work, stop)
            here.wait()
            stop.request()
            thread.join()
            self.assertEqual(found, [Stopped])

    def test_a_request_that_came_before(self):
        stop, over = Stop(), threading.Event()
        stop.request()

        def work():
            with ending(over.set):
                over.wait()

        for each in (work, check, lambda: sleep(1e6)):
            thread, found = self.run_stopped(each, stop)
            thread.join()
            self.assertEqual(found, [Stopped])

    def test_what_ended_before_is_not_ended_again(self):
        stop = Stop()
        with stop.ending(self.fail):
            pass
        with self.assertRaises(KeyError), stop.ending(self.fail):
            raise KeyError
        stop.request()

    def test_other_threads_go_on(self):
        stop = Stop()
        stop.request()
        check()
        with self.assertRaises(Stopped):
            stop.check()


if __name__ == "__main__":
    unittest.main()
