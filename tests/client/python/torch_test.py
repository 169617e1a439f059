"""znni.torch against PyTorch's own convolution in float64. Runs only if torch is installed: deploy/packages/python.txt
does not have it. Else it says that it is skipped."""

import concurrent.futures
import importlib.util
import os
import sys
import unittest
from unittest import mock

from conv_case import needs_library
from znni.errors import InvalidError, OverBudgetError

HAS_TORCH = bool(importlib.util.find_spec("torch"))
if HAS_TORCH:
    import torch
    import znni.torch
    from torch import library
    from torch.nn import functional

BOUND = 1e-4  # of the largest value
STEPS = 20


def distance(found, exact):
    """Returns the largest difference, as a part of the largest exact value."""
    return ((found.double() - exact).abs().max() / exact.abs().max()).item()


def leaves(*tensors):
    """Returns tensors with gradients, and the same in float64."""
    return [each.requires_grad_() for each in tensors], [each.detach().double().requires_grad_() for each in tensors]


def tensors(seed, batch=2, inputs=5, outputs=7, extent=(9, 8, 10), kernel=(3, 2, 4)):
    """Returns x, weight and bias."""
    torch.manual_seed(seed)
    return torch.randn(batch, inputs, *extent), torch.randn(outputs, inputs, *kernel), torch.randn(outputs)


class WithoutTorchTest(unittest.TestCase):
    def test_its_import_says_what_is_needed(self):
        sys.modules.pop("znni.torch", None)
        with (
            mock.patch.dict(sys.modules, {"torch": None}),
            self.assertRaisesRegex(ImportError, r"needs PyTorch: pip install 'znni\[torch\]'"),
        ):
            importlib.import_module("znni.torch")


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
@needs_library
class TorchTest(unittest.TestCase):
    def compare(self, given, **arguments):
        """Compares output and gradients with those of PyTorch in float64."""
        ours, theirs = leaves(*given)
        output, exact = znni.torch.conv3d(*ours, **arguments), functional.conv3d(*theirs, **arguments)
        self.assertEqual((output.shape, output.dtype), (exact.shape, torch.float32))
        self.assertLess(distance(output, exact), BOUND)
        factor = torch.randn(exact.shape)
        (output * factor).sum().backward()
        (exact * factor.double()).sum().backward()
        for mine, wanted in zip(ours, theirs):
            self.assertLess(distance(mine.grad, wanted.grad), BOUND)

    def test_random_shapes(self):
        generator = torch.Generator().manual_seed(3)

        def number(low, high):
            return int(torch.randint(low, high + 1, (), generator=generator))

        for seed in range(10):
            kernel = [number(1, 5) for _ in range(3)]
            extent = [taps + number(0, 9) for taps in kernel]
            with self.subTest(kernel=kernel, extent=extent):
                self.compare(tensors(seed, number(1, 3), number(1, 20), number(1, 20), extent, kernel))

    def test_padding(self):
        for padding in (1, (0, 2, 1), "same", "valid", [3]):
            with self.subTest(padding=padding):
                self.compare(tensors(1), padding=padding)

    def test_one_volume_without_bias(self):
        x, weight, _ = tensors(1)
        self.compare((x[0], weight))

    def test_tensors_with_other_strides(self):
        """They are copied; so is a gradient that is one number everywhere."""
        x, weight, bias = tensors(1)
        turned = x.transpose(2, 4), weight.transpose(2, 4), bias[::2].repeat_interleave(2)[:7]
        self.compare([each.detach() for each in turned])
        ours, theirs = leaves(x, weight, bias)
        znni.torch.conv3d(*ours).sum().backward()
        functional.conv3d(*theirs).sum().backward()
        self.assertLess(distance(ours[0].grad, theirs[0].grad), BOUND)

    def test_gradients_that_are_not_asked_for(self):
        x, weight, bias = tensors(1)
        for asked in ((True, False, False), (False, True, False), (False, False, True)):
            given = [each.clone().requires_grad_(wanted) for each, wanted in zip((x, weight, bias), asked)]
            znni.torch.conv3d(*given).square().sum().backward()
            theirs = [each.detach().double().requires_grad_(wanted) for each, wanted in zip(given, asked)]
            functional.conv3d(*theirs).square().sum().backward()
            for mine, wanted in zip(given, theirs):
                self.assertEqual(mine.grad is None, wanted.grad is None)
                if mine.grad is not None:
                    self.assertLess(distance(mine.grad, wanted.grad), BOUND)

    def test_gradients_of_gradients(self):
        """As a penalty on the norm of a gradient has them."""
        ours, theirs = leaves(*tensors(1))

        def penalty(conv, x, weight, bias):
            output = conv(x, weight, bias).square().sum()
            made = torch.autograd.grad(output, (x, weight, bias), create_graph=True)
            return sum((each / each.detach().norm()).square().sum() for each in made)

        penalty(znni.torch.conv3d, *ours).backward()
        penalty(functional.conv3d, *theirs).backward()
        for mine, wanted in zip(ours, theirs):
            self.assertLess(distance(mine.grad, wanted.grad), BOUND)

    def test_derivatives_are_those_of_differences(self):
        """Of the output's sum of squares, along a random direction."""
        x, weight, bias = tensors(5)
        ours, _ = leaves(x.clone(), weight.clone(), bias.clone())
        znni.torch.conv3d(*ours).square().sum().backward()
        for mine, start in zip(ours, (x, weight, bias)):
            along = torch.randn(start.shape).double()
            step = 1e-3

            def value(offset):
                moved = [each.double() for each in (x, weight, bias)]
                moved = [each + offset * along if each.shape == start.shape else each for each in moved]
                return functional.conv3d(*moved).square().sum()

            slope = (value(step) - value(-step)) / (2 * step)
            found = (mine.grad.double() * along).sum()
            self.assertLess(abs(found - slope) / (mine.grad.double().norm() * along.norm()), BOUND)

    def test_the_operations_are_sound(self):
        """By the checks that PyTorch has for operations: schema, gradients, meta kernels, dynamic extents."""
        ours, _ = leaves(*tensors(1))
        x, weight, bias = ours
        gradient = torch.randn(znni.torch.conv3d(x, weight, bias).shape, requires_grad=True)
        operations = torch.ops.znni
        for operation, given in (
            (operations.conv3d, (x, weight, bias, 0, 0)),
            (operations.conv3d, (x, weight, None, 2, 1 << 30)),
            (operations.conv3d_input_gradient, (gradient, weight, 0, 0)),
            (operations.conv3d_weight_gradient, (gradient, x, 0, 0)),
        ):
            library.opcheck(operation.default, given)

    def test_a_compiled_net(self):
        """The backend traces both passes, and generates no code: that would need a compiler."""
        net = torch.nn.Sequential(znni.torch.Conv3d(2, 4, 3), torch.nn.ReLU(), znni.torch.Conv3d(4, 1, 2, padding=1))
        compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
        x = torch.randn(1, 2, 9, 9, 9)
        for extent in (9, 11):
            x = torch.randn(1, 2, extent, extent, extent)
            output = compiled(x)
            self.assertEqual(distance(output, net(x).double()), 0)
            of_compiled = torch.autograd.grad(output.square().sum(), list(net.parameters()))
            of_net = torch.autograd.grad(net(x).square().sum(), list(net.parameters()))
            for mine, wanted in zip(of_compiled, of_net):
                self.assertLess(distance(mine, wanted.double()), BOUND)

    def test_a_training_has_the_losses_of_pytorch(self):
        """Twenty steps of Adam from the same weights."""

        def net(conv):
            torch.manual_seed(11)
            return torch.nn.Sequential(
                conv(1, 8, 3, padding=1), torch.nn.ReLU(), conv(8, 8, (1, 3, 3)), torch.nn.ReLU(), conv(8, 1, 5)
            )

        def losses(conv):
            own = net(conv)
            optimizer = torch.optim.Adam(own.parameters(), 3e-3)
            torch.manual_seed(12)
            for _ in range(STEPS):
                x = torch.randn(2, 1, 14, 14, 14)
                wanted = functional.avg_pool3d(x, 3, 1)[..., 1:-1, 2:-2, 2:-2]
                optimizer.zero_grad()
                loss = functional.mse_loss(own(x), wanted)
                loss.backward()
                optimizer.step()
                yield loss.item()

        ours, theirs = list(losses(znni.torch.Conv3d)), list(losses(torch.nn.Conv3d))
        for step, (mine, wanted) in enumerate(zip(ours, theirs)):
            self.assertLess(abs(mine - wanted), BOUND * wanted, f"step {step + 1}")
        self.assertLess(ours[-1], ours[0])

    def test_a_module_has_the_parameters_of_pytorchs(self):
        torch.manual_seed(1)
        ours = znni.torch.Conv3d(3, 4, (1, 2, 3), padding="same", bias=False, padding_mode="reflect", threads=1)
        torch.manual_seed(1)
        theirs = torch.nn.Conv3d(3, 4, (1, 2, 3), padding="same", bias=False, padding_mode="reflect")
        self.assertEqual(list(ours.state_dict()), list(theirs.state_dict()))
        self.assertTrue(torch.equal(ours.weight, theirs.weight))
        x = torch.randn(1, 3, 6, 6, 6)
        self.assertLess(distance(ours(x), theirs.double()(x.double())), BOUND)

    def test_what_ours_cannot_do_is_refused(self):
        x, weight, bias = tensors(1)
        for message, given, arguments in (
            ("stride: 2 found, expected 1: znni.torch has no other", (x, weight, bias), {"stride": 2}),
            (r"dilation: \(1, 2, 1\) found, expected 1", (x, weight, bias), {"dilation": (1, 2, 1)}),
            ("groups: 5 found, expected 1", (x, weight, bias), {"groups": 5}),
            ("padding: -1 found, expected numbers from 0 on", (x, weight), {"padding": -1}),
            ("padding: 'full' found", (x, weight), {"padding": "full"}),
            ("threads: 0 found, expected at least 1", (x, weight), {"threads": 0}),
            ("mem: 'much' found, expected bytes", (x, weight), {"mem": "much"}),
            ("x: torch.float64, torch.strided found, expected a dense torch.float32", (x.double(), weight), {}),
            ("weight: torch.float16, torch.strided found", (x, weight.half()), {}),
            ("x: a tensor on meta found, expected one on the CPU", (x.to("meta"), weight), {}),
            (r"x: shape \(2, 5\) found, expected 5 axes, NCDHW", (x[:, :, 0, 0, 0], weight), {}),
            ("weight: 4 input channels found, expected the 5 of x", (x, weight[:, :4]), {}),
            ("bias: 6 elements found, expected the 7 outputs of weight", (x, weight, bias[:6]), {}),
            (r"x: extent \(2, 8, 10\) found, with padding, expected at least", (x[:, :, :2], weight), {}),
            ("x, weight: shapes .* found, expected no axis of 0", (x[:0], weight), {}),
        ):
            with self.subTest(message), self.assertRaisesRegex(InvalidError, "^" + message):
                znni.torch.conv3d(*given, **arguments)
        for name in ("stride", "dilation"):
            with self.assertRaisesRegex(InvalidError, f"^{name}: .* found, expected 1"):
                znni.torch.Conv3d(2, 2, 3, **{name: 2})

    def test_the_operations_refuse_what_they_cannot_do(self):
        """They can be called without conv3d."""
        x, weight, bias = tensors(1)
        gradient, operations = torch.randn(2, 7, 7, 7, 7), torch.ops.znni
        for message, operation, given in (
            ("weight: torch.float64, torch.strided found", operations.conv3d, (x, weight.double(), bias)),
            ("bias: 6 elements found, expected the 7 outputs", operations.conv3d, (x, weight, bias[:6])),
            (r"x: extent \(2, 8, 10\) found", operations.conv3d, (x[:, :, :2], weight, None)),
            ("gradient: torch.float64", operations.conv3d_input_gradient, (gradient.double(), weight)),
            ("weight: shape .* expected 5 axes", operations.conv3d_input_gradient, (gradient, weight[0])),
            ("gradient: 6 channels found, expected the 7", operations.conv3d_input_gradient, (gradient[:, :6], weight)),
            ("x, weight: shapes .* no axis of 0", operations.conv3d_input_gradient, (gradient[:0], weight)),
            ("x: torch.float16", operations.conv3d_weight_gradient, (gradient, x.half())),
            ("gradient: a batch of 1 found, expected the 2", operations.conv3d_weight_gradient, (gradient[:1], x)),
            ("gradient: shape .* a part of x", operations.conv3d_weight_gradient, (gradient, x[:, :, :6])),
            ("gradient: shape .* a part of x", operations.conv3d_weight_gradient, (gradient[:, :0], x)),
        ):
            with self.subTest(message), self.assertRaisesRegex(InvalidError, "^" + message):
                operation(*given, 0, 0)
        for limits, message in (((-1, 0), "threads: -1 found"), ((1, -1), "mem: -1 found")):
            with self.assertRaisesRegex(InvalidError, message):
                operations.conv3d(x, weight, bias, *limits)

    def test_a_limit_that_is_too_small_is_refused(self):
        given = tensors(1, inputs=32, outputs=32, extent=(14, 14, 14), kernel=(5, 5, 5))
        with self.assertRaisesRegex(OverBudgetError, "and the limit is 1 B: raise it"):
            znni.torch.conv3d(*given, mem=1)
        exact = functional.conv3d(*map(torch.Tensor.double, given))
        self.assertLess(distance(znni.torch.conv3d(*given, mem="64M"), exact), BOUND)

    def test_threads_are_those_of_pytorch(self):
        """Equal bits for equal numbers of threads; those of PyTorch are looked at in each run, and left as they are."""
        given = tensors(1)
        with mock.patch("torch.get_num_threads", return_value=2):
            self.assertTrue(torch.equal(znni.torch.conv3d(*given), znni.torch.conv3d(*given, threads=2)))
        before = torch.get_num_threads(), os.sched_getaffinity(0)
        znni.torch.conv3d(*given, threads=3)
        self.assertEqual((torch.get_num_threads(), os.sched_getaffinity(0)), before)

    def test_several_threads_of_python(self):
        given, exact = tensors(1), functional.conv3d(*map(torch.Tensor.double, tensors(1)))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for output in pool.map(lambda _: znni.torch.conv3d(*given), range(16)):
                self.assertLess(distance(output, exact), BOUND)


if __name__ == "__main__":
    unittest.main()
