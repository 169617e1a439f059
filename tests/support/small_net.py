"""A network that takes no time: a convolution, a pooling, a convolution."""

SMALL = """
name: "small"
f_in: 1
node { conv { f_out: 4 k: 3 activation: relu } }
node { max_pool { window: 2 stride: 2 } }
node { conv { f_out: 2 k: 3 } }
"""
