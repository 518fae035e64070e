"""The 3x3 convolution of the towers."""

from torch import nn


class Conv3x3(nn.Conv2d):
    """A convolution of 8x8 boards, padded, without bias."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs, 3, padding=1, bias=False)
