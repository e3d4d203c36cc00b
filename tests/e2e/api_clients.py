"""Google's own clients against the emulator: argument 1 is its URL."""
import os
import sys
import time

import google_crc32c
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import secretmanager_v1, storage, tpu_v2
from google.cloud.secretmanager_v1.services.secret_manager_service.transports.rest import (
    SecretManagerServiceRestTransport)
from google.cloud.tpu_v2.services.tpu.transports.rest import TpuRestTransport
from google.protobuf import field_mask_pb2
from googleapiclient import discovery

url = sys.argv[1]
parent = "projects/demo-project/locations/europe-west4-a"


def rest_client():
    """google-cloud-tpu with transport="rest", which sends enums as numbers."""
    host = url.split("://")[1]
    transport = TpuRestTransport(host=host, credentials=AnonymousCredentials(), url_scheme="http")
    client = tpu_v2.TpuClient(transport=transport)
    types = tpu_v2.AcceleratorConfig.Type
    node = tpu_v2.Node(
        accelerator_config=tpu_v2.AcceleratorConfig(type_=types.V3, topology="2x2"),
        runtime_version="tpu-vm-base",
        data_disks=[tpu_v2.AttachedDisk(source_disk="projects/p/zones/z/disks/d",
                                        mode=tpu_v2.AttachedDisk.DiskMode.READ_ONLY)],
        metadata={"ssh-keys": "alice:k"})
    made = client.create_node(parent=parent, node_id="rest", node=node).result(timeout=60)
    assert made.state == tpu_v2.Node.State.READY, made
    assert made.accelerator_config.type_ == types.V3, made
    assert made.accelerator_type == "v3-8", made
    assert made.data_disks[0].mode == tpu_v2.AttachedDisk.DiskMode.READ_ONLY, made
    change = tpu_v2.Node(name=made.name, description="by rest")
    mask = field_mask_pb2.FieldMask(paths=["description"])
    changed = client.update_node(node=change, update_mask=mask).result(timeout=60)
    assert changed.description == "by rest", changed
    assert [one.name for one in client.list_nodes(parent=parent)] == [made.name]
    assert client.list_accelerator_types(parent=parent).accelerator_types
    client.delete_node(name=made.name).result(timeout=60)
    assert not list(client.list_nodes(parent=parent))


def discovery_client():
    """googleapiclient, by the discovery documents that it brings along."""
    for version in ("v2", "v2alpha1"):
        service = discovery.build("tpu", version, credentials=AnonymousCredentials(),
                                  client_options={"api_endpoint": url}, static_discovery=True)
        locations = service.projects().locations()
        body = {"acceleratorType": "v3-8", "runtimeVersion": "tpu-vm-base",
                "bootDiskConfig": {"customerEncryptionKey": {"kmsKeyName": "k"}}}
        operation = locations.nodes().create(parent=parent, nodeId="disc", body=body).execute()
        while not operation.get("done"):
            operation = locations.operations().get(name=operation["name"]).execute()
        assert "error" not in operation, operation
        name = parent + "/nodes/disc"
        node = locations.nodes().get(name=name).execute()
        assert node["bootDiskConfig"] == body["bootDiskConfig"], node
        operation = locations.nodes().delete(name=name).execute()
        while not operation.get("done"):
            operation = locations.operations().get(name=operation["name"]).execute()


def secrets_client():
    """google-cloud-secret-manager with transport="rest"."""
    transport = SecretManagerServiceRestTransport(
        host=url.split("://")[1], credentials=AnonymousCredentials(), url_scheme="http")
    client = secretmanager_v1.SecretManagerServiceClient(transport=transport)
    states = secretmanager_v1.SecretVersion.State
    secret = client.create_secret(parent="projects/demo-project", secret_id="s",
                                  secret={"replication": {"automatic": {}}})
    data = bytes(range(256))
    payload = {"data": data, "data_crc32c": google_crc32c.value(data)}
    version = client.add_secret_version(parent=secret.name, payload=payload)
    assert version.state == states.ENABLED, version
    assert version.client_specified_payload_checksum, version
    client.add_secret_version(parent=secret.name, payload={"data": b"second"})
    read = client.access_secret_version(name="projects/demo-project/secrets/s/versions/1")
    assert read.name == version.name, read
    assert read.payload.data == data, read
    assert read.payload.data_crc32c == google_crc32c.value(data), read
    latest = client.access_secret_version(name=secret.name + "/versions/latest")
    assert latest.payload.data == b"second", latest
    names = [one.name for one in client.list_secret_versions(parent=secret.name)]
    assert names == [latest.name, version.name], names
    assert client.disable_secret_version(name=version.name).state == states.DISABLED
    assert client.destroy_secret_version(name=version.name).state == states.DESTROYED
    for wrong, expected in [(version.name, exceptions.BadRequest),
                            (secret.name + "/versions/9", exceptions.NotFound)]:
        try:
            client.access_secret_version(name=wrong)
        except expected:
            continue
        raise AssertionError(wrong)
    try:
        client.add_secret_version(parent=secret.name,
                                  payload={"data": b"x", "data_crc32c": 1})
        raise AssertionError("a checksum that does not fit")
    except exceptions.BadRequest:
        pass
    client.delete_secret(name=secret.name)
    assert not list(client.list_secrets(parent="projects/demo-project"))


def refused(expected, call, **arguments):
    try:
        call(**arguments)
    except expected:
        return
    raise AssertionError((expected, call))


def storage_client():
    """google-cloud-storage, which finds the emulator by its variable."""
    os.environ["STORAGE_EMULATOR_HOST"] = url
    client = storage.Client(project="demo-project", credentials=AnonymousCredentials())
    bucket = client.create_bucket("e2e-bucket", location="EU")
    blob = bucket.blob("a/b c")
    blob.upload_from_string(b"0123", content_type="x/y", if_generation_match=0)
    refused(exceptions.PreconditionFailed, bucket.blob("a/b c").upload_from_string, data=b"no",
            if_generation_match=0)
    assert bucket.blob("a/b c").download_as_bytes() == b"0123"
    assert bucket.blob("a/b c").download_as_bytes(start=1, end=2) == b"12"
    time.sleep(1.1)  # an object is written once a second
    blob.metadata = {"beat": "1"}
    blob.patch(if_metageneration_match=1)
    assert blob.metageneration == 2 and blob.metadata == {"beat": "1"}, blob
    large = bucket.blob("large", chunk_size=1 << 20)  # in pieces
    data = os.urandom(5 << 19)
    large.upload_from_string(data)
    assert large.download_as_bytes() == data
    for number in range(5):
        bucket.blob(f"l/{number}").upload_from_string(str(number))
    names = [one.name for one in client.list_blobs(bucket, prefix="l/", start_offset="l/1",
                                                   page_size=2)]
    assert names == ["l/1", "l/2", "l/3", "l/4"], names
    folders = client.list_blobs(bucket, delimiter="/")
    assert [one.name for one in folders] == ["large"] and folders.prefixes == {"a/", "l/"}
    composed = bucket.blob("composed")
    composed.compose([bucket.blob("l/1"), bucket.blob("l/2")])
    assert composed.download_as_bytes() == b"12"
    assert bucket.rename_blob(bucket.copy_blob(blob, bucket, "copy"), "moved").content_type == "x/y"
    refused(exceptions.NotFound, bucket.blob("none").download_as_bytes)
    refused(exceptions.PreconditionFailed, blob.delete, if_generation_match=7)
    refused(exceptions.Conflict, bucket.delete)
    bucket.delete(force=True)
    assert not bucket.exists()


rest_client()
discovery_client()
secrets_client()
storage_client()
print("all well")
