"""What znni.compile, znni.torch and znni.monai are made of: modules, tensors and convolutions of PyTorch."""
