"""Coarser resolutions of outputs: an image of OME-NGFF has several, each halved from the one before."""
