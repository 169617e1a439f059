"""The program znni-view: an output beside its input, in one page of HTML."""
