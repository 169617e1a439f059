"""Messages and methods of the wire, from the descriptors of proto/*.proto that the installation makes.

They live in a descriptor pool of their own, so that znni and tritonclient, which has the same protocol, can be imported
into one process.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from znni.errors import Error


def _load_pool() -> descriptor_pool.DescriptorPool:
    file = resources.files("znni").joinpath("wire.binpb")
    if not file.is_file():
        raise Error(f"{file}: is missing: install the package with pip, which makes it")
    pool = descriptor_pool.DescriptorPool()
    for one in descriptor_pb2.FileDescriptorSet.FromString(file.read_bytes()).file:
        pool.AddSerializedFile(one.SerializeToString())
    return pool


_POOL = _load_pool()


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(name))


Extent = _message("znni.v1.Extent")
VolumeHeader = _message("znni.v1.VolumeHeader")
VolumeChunk = _message("znni.v1.VolumeChunk")
VolumeRequest = _message("znni.v1.VolumeRequest")
VolumeAccepted = _message("znni.v1.VolumeAccepted")
VolumeProgress = _message("znni.v1.VolumeProgress")
VolumeDone = _message("znni.v1.VolumeDone")
VolumeResponse = _message("znni.v1.VolumeResponse")
VolumeOutlook = _message("znni.v1.VolumeOutlook")
ModelReadyRequest = _message("inference.ModelReadyRequest")
ModelReadyResponse = _message("inference.ModelReadyResponse")
ModelMetadataRequest = _message("inference.ModelMetadataRequest")
ModelMetadataResponse = _message("inference.ModelMetadataResponse")
RepositoryIndexRequest = _message("inference.RepositoryIndexRequest")
RepositoryIndexResponse = _message("inference.RepositoryIndexResponse")

# Paths of the methods that the client calls.
INFER = "/znni.v1.Volumes/Infer"
OUTLOOK = "/znni.v1.Volumes/Outlook"
MODEL_READY = "/inference.GRPCInferenceService/ModelReady"
MODEL_METADATA = "/inference.GRPCInferenceService/ModelMetadata"
REPOSITORY_INDEX = "/inference.GRPCInferenceService/RepositoryIndex"
