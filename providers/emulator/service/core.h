// What the collections of the service share: settings, the clock, the journal, the machines, what
// is limited, operations; and what each collection is for the others.
//
// One lock guards all of it (service.h): whoever calls anything in this room holds it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/names.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/capacity.h"
#include "providers/emulator/service/journal.h"
#include "providers/emulator/service/operations.h"
#include "providers/emulator/service/table.h"
#include "providers/emulator/service/times.h"
#include "providers/emulator/workers/worker_farm.h"

namespace podctl::emulator {

struct Settings {
  std::chrono::milliseconds operation_delay{2000};
  // How long after READY the workers are switched on; 0: before, and READY waits for them.
  std::chrono::milliseconds worker_boot_delay{0};
  std::uint32_t address_seed = 0;  // where in 127.64.0.0/10 the first worker's address is taken
};

// A path of an update mask, as it was given and in camelCase; "" where no field has that name.
struct MaskPath {
  std::string given;
  std::string path;
};

// A request that has been read: what it calls, on what, and what it brings.
struct Call {
  std::string name = "unknown";  // as in the discovery document, without "projects.locations."
  ApiVersion version = ApiVersion::kV2;
  Place place;
  std::string id;          // of the resource; of a create: what it shall be
  std::string version_id;  // of a version of a secret
  Value body;
  PageRequest page;
  std::string filter;
  std::vector<MaskPath> mask;
  std::vector<std::string> fields;  // of the mask of a secret
  bool force = false;
  std::string request_id;  // the same one again is answered with the same operation
  // google.rpc.Status: the operation is accepted and ends so, without an effect. Code 0: it ends as
  // if it had been done. Null: nothing of the kind.
  Value failure;

  std::string_view collection() const { return std::string_view(name).substr(0, name.find('.')); }
  std::string Target() const { return place.Name(collection(), id); }
  // Of what a list shows; place.zone "-": of all zones of the project.
  std::string Prefix() const {
    return place.zone == "-" ? "projects/" + place.project + "/locations/"
                             : place.Name(collection(), "");
  }
};

// A collection of resources that live, as the rest of the service sees it.
class Collection {
 public:
  Collection(std::string_view its_word, std::string_view its_kind)
      : word(its_word), kind(its_kind) {}
  virtual ~Collection() = default;
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  const std::string_view word;  // as in resource names, "nodes"
  const std::string_view kind;  // as in the journal's keys, "node"

  // From the journal.
  virtual void Restore(const std::string& name, const Value& record) = 0;
  // The resources with this id (or other name that people give them), or this full name.
  virtual std::vector<std::string> NamesOf(const std::string& id) const = 0;
  // What Google, chance, or somebody who rehearses does to one: "preempt".
  virtual Answer Incident(const std::string& name, std::string_view verb) = 0;
  // Ends an operation that is due. False: not yet, ask again soon.
  virtual bool Settle(Operation* /*operation*/) { return true; }
  // Takes back what an operation that is cancelled was to create.
  virtual void Withdraw(const std::string& /*name*/) {}
  // Does what is due; returns when to look again (ms since the epoch).
  virtual std::int64_t Tend(std::int64_t /*now*/) { return kNever; }
  // In short, for people.
  virtual Value::List Overview() const { return {}; }
  // What counts against a pool, or a reservation, and against a quota.
  virtual int Used(const Pool& /*pool*/) const { return 0; }
  virtual int Held(const QuotaUse& /*use*/) const { return 0; }
};

struct Core {
  Core(Settings chosen, Limits limits, Journal* its_journal, WorkerFarm* its_farm)
      : settings(chosen),
        journal(its_journal),
        farm(its_farm),
        operations(this),
        capacity(std::move(limits), &clock, &collections) {}

  // That a resource with this name belongs to; nullptr: none.
  Collection* CollectionFor(std::string_view resource_name) const {
    for (Collection* collection : collections) {
      if (collection->word == CollectionOf(resource_name)) return collection;
    }
    return nullptr;
  }
  std::int64_t DelayMs() const { return settings.operation_delay.count(); }

  const Settings settings;
  Journal* const journal;
  WorkerFarm* const farm;
  ServiceClock clock;
  std::vector<Collection*> collections;
  Operations operations;
  Capacity capacity;
  std::condition_variable changed;  // there may be something to do
};

}  // namespace podctl::emulator
