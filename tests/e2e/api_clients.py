"""Google's own clients against the emulator: argument 1 is its URL."""
import sys

import google_crc32c
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import secretmanager_v1, tpu_v2
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


rest_client()
discovery_client()
secrets_client()
print("all well")
