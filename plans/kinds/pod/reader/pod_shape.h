// The tables of a pod's keys: of the Node's fields as far as a spec may set them
// (providers/gcp/tpu_schema.h), and of those that podctl adds. Readers know their keys, words and
// limits from them, and the schema for editors is made of them.
#pragma once

#include <vector>

#include "plans/spec/shape.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {

// All keys of a pod.
const Shape& PodShape();
// Those that podctl adds.
const Shape& OwnKeys();

// Of one field of a Node, with its members.
Shape ShapeOf(const gcp::Field& field);

const Shape& CapacityShape();
const Shape& LifecycleShape();
const Shape& MetadataSourceShape();  // a metadata entry that is a map
const Shape& PublishedKeyShape();    // an item of ssh.publishKeys that is a map
const Shape& QueuedResourceShape();
const Shape& SshShape();
const Shape& TimeoutsShape();
const Shape& IdleShape();
const Shape& TunnelShape();

}  // namespace podctl
