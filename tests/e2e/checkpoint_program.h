// The part of a training that keeps its checkpoint in Cloud Storage, where PODCTL_RESUME says: a
// module for trainings of tests, `checkpoint.py`.
#pragma once

namespace podctl::testing {

inline constexpr const char* kCheckpointProgram = R"py(
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

bucket, _, prefix = os.environ["PODCTL_RESUME"][len("gs://"):].partition("/")
storage = os.environ["STORAGE_EMULATOR_HOST"]
name = urllib.parse.quote(prefix + "/checkpoint", safe="")


def load(first):
    """The last that was saved; `first` where nothing was."""
    try:
        with urllib.request.urlopen(f"{storage}/storage/v1/b/{bucket}/o/{name}?alt=media") as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return first


def save(checkpoint):
    """There whole, or not at all."""
    while True:
        try:
            urllib.request.urlopen(urllib.request.Request(
                f"{storage}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}",
                data=json.dumps(checkpoint).encode(), method="POST",
                headers={"Content-Type": "application/json"})).close()
            return
        except urllib.error.HTTPError as error:
            if error.code != 429:  # Cloud Storage takes one a second of an object
                raise
            time.sleep(1)
)py";

}  // namespace podctl::testing
