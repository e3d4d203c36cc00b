// The door to a cloud that has TPU nodes. Resources travel as Value with the JSON names of the
// Cloud TPU v2 API (projects.locations.nodes), so there is one vocabulary from the spec to the
// wire.
//
// All calls block, retry what is safe to repeat, are thread safe, and stop early (kCancelled) when
// `stop` is requested. Errors carry the service's own sentence.
#pragma once

#include <compare>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/api_version.h"
#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl {

struct NodeName {
  std::string project;
  std::string zone;  // the API's location, e.g. "europe-west4-a"
  std::string node;

  // 2 or more: stands for the nodes `node`-0, `node`-1, … of a multislice (slices.h). No part of
  // the name.
  int slices = 1;

  std::string Parent() const { return "projects/" + project + "/locations/" + zone; }
  std::string Resource() const { return Parent() + "/nodes/" + node; }
  friend std::strong_ordering operator<=>(const NodeName& a, const NodeName& b) {
    int order = a.project.compare(b.project);
    if (order == 0) order = a.zone.compare(b.zone);
    if (order == 0) order = a.node.compare(b.node);
    return order <=> 0;
  }
  friend bool operator==(const NodeName& a, const NodeName& b) {
    return a.node == b.node && a.zone == b.zone && a.project == b.project;
  }
};

// google.longrunning.Operation, as far as podctl reads it.
struct Operation {
  std::string name;  // "projects/p/locations/z/operations/operation-…"
  bool done = false;
  std::vector<Error> error;  // empty, or the one reason of a failed operation
  Value response;            // the node, where the method returns one
  // OperationMetadata; empty where the service does not say.
  std::string target = {};       // the resource name of the node
  std::string verb = {};         // "create", "update", "delete", …
  std::string create_time = {};  // RFC 3339, by the service's clock
};

// One worker's guest attributes (GuestAttributes.queryValue.items), in worker order.
struct GuestAttribute {
  std::string space;  // "namespace" of the API, e.g. "hostkeys"
  std::string key;    // "ssh-ed25519"
  std::string value;  // base64 of the public key
};
using WorkerAttributes = std::vector<GuestAttribute>;

struct QueuedName {
  std::string project;
  std::string zone;
  std::string id;

  std::string Parent() const { return "projects/" + project + "/locations/" + zone; }
  std::string Resource() const { return Parent() + "/queuedResources/" + id; }
  friend auto operator<=>(const QueuedName&, const QueuedName&) = default;
};

// Requests that wait for capacity (projects.locations.queuedResources). The rules of Provider hold.
class QueuedResources {
 public:
  virtual ~QueuedResources() = default;

  virtual Result<std::vector<Value>> List(const std::string& project, const std::string& zone,
                                          std::stop_token stop) = 0;
  // kNotFound when there is none.
  virtual Result<Value> Get(const QueuedName& name, std::stop_token stop) = 0;
  // The operation ends when the request is accepted, not when its nodes are there. `request_id` is
  // a UUID: the service answers a repeat with the same operation, so a lost answer may be repeated.
  virtual Result<Operation> Create(const QueuedName& name, const Value& body,
                                   const std::string& request_id, std::stop_token stop) = 0;
  // `force`: its nodes are deleted with it. kNotFound when it is gone already.
  virtual Result<Operation> Delete(const QueuedName& name, bool force,
                                   const std::string& request_id, std::stop_token stop) = 0;
};

class CustomJobs;  // custom_jobs.h

class Provider {
 public:
  virtual ~Provider() = default;

  // All nodes of one project and zone, every page of the list.
  virtual Result<std::vector<Value>> ListNodes(const std::string& project, const std::string& zone,
                                               std::stop_token stop) = 0;
  // kNotFound when there is none.
  virtual Result<Value> GetNode(const NodeName& name, std::stop_token stop) = 0;

  // Without a `request_id`: sends a create once. When the answer is lost (kReplyLost) the caller
  // settles it by GetNode; kAlreadyExists means that a node of this name is there, ours or somebody
  // else's. With one, a UUID, which only v2alpha1 takes: the service knows a repeat by it, and
  // answers with the operation that the first began.
  virtual Result<Operation> CreateNode(const NodeName& name, const Value& node,
                                       const std::string& request_id, std::stop_token stop) = 0;
  // `update_mask`: API field paths, e.g. {"labels", "metadata"}. Repeating a patch is safe.
  virtual Result<Operation> PatchNode(const NodeName& name, const Value& node,
                                      const std::vector<std::string>& update_mask,
                                      std::stop_token stop) = 0;
  // kNotFound when it is gone already. `request_id` as with CreateNode.
  virtual Result<Operation> DeleteNode(const NodeName& name, const std::string& request_id,
                                       std::stop_token stop) = 0;
  // Of single-host nodes only. kReplyLost where it is open whether it was begun: the node's state
  // tells.
  virtual Result<Operation> StartNode(const NodeName& name, std::stop_token stop) = 0;
  virtual Result<Operation> StopNode(const NodeName& name, std::stop_token stop) = 0;
  virtual Result<Operation> GetOperation(const std::string& operation, std::stop_token stop) = 0;
  // The operations of one project and zone that the service still knows, every page, in no order.
  virtual Result<std::vector<Operation>> ListOperations(const std::string& project,
                                                        const std::string& zone,
                                                        std::stop_token stop) = 0;

  // One entry for each worker. `query_path` e.g. "hostkeys/"; empty: everything.
  virtual Result<std::vector<WorkerAttributes>> GetGuestAttributes(const NodeName& name,
                                                                   const std::string& query_path,
                                                                   std::stop_token stop) = 0;

  // The same cloud in another version of the API. Lent by this provider; where there is but one
  // version, this provider itself.
  virtual Provider& InVersion(ApiVersion /*version*/) { return *this; }

  // Lent; nullptr where the service has none.
  virtual QueuedResources* queued() { return nullptr; }

  // Lent; nullptr where nobody runs training jobs.
  virtual CustomJobs* custom_jobs() { return nullptr; }
};

// ---- The door to what a zone offers to make nodes of. Resources travel as Value with the JSON
// names of the Cloud TPU API, every page of a list together. Calls behave as those of Provider.

class ZoneCatalogue {
 public:
  virtual ~ZoneCatalogue() = default;

  // AcceleratorType: `type`, and `acceleratorConfigs` with their `topology`.
  virtual Result<std::vector<Value>> ListAcceleratorTypes(const std::string& project,
                                                          const std::string& zone,
                                                          std::stop_token stop) = 0;
  // RuntimeVersion: `version`.
  virtual Result<std::vector<Value>> ListRuntimeVersions(const std::string& project,
                                                         const std::string& zone,
                                                         std::stop_token stop) = 0;
};

}  // namespace podctl
