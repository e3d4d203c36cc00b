// The composition root: the only room that names concrete transports, stores and providers.
//
// Everything is made when first asked for, so that `podctl version` makes nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cmd/command_line.h"
#include "cmd/interrupt.h"
#include "cmd/output_filter.h"
#include "plans/fleet/worker_round.h"
#include "plans/session/plan.h"
#include "plans/session/returning_jobs.h"
#include "plans/spec/loader.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/provider.h"
#include "providers/secrets.h"
#include "providers/ssh/keys/identities.h"
#include "providers/ssh/keys/known_hosts.h"
#include "providers/ssh/transport.h"
#include "state/run_notes.h"
#include "state/store.h"

namespace podctl {

namespace gcp {
class Credentials;
class RestClient;
class StorageClient;
struct Endpoint;
}  // namespace gcp
class BlobStore;
class Reporter;
struct ApplyDoors;
struct CiDoors;
struct PodDoors;
struct RunAccount;

class Wiring {
 public:
  Wiring(const GlobalOptions& options, Streams& streams, Interrupt& interrupt);
  ~Wiring();

  const GlobalOptions& options() const { return options_; }
  Streams& streams() { return streams_; }
  // What is said goes through it; in the form that the flags of every command ask for.
  Reporter& reporter();
  // The one of `--markdown`, for a command that has that; before anything is said.
  void SpeakMarkdown();
  // What is said from now on is kept in `account`, too, which is lent.
  void KeepAccount(RunAccount* account);
  Interrupt& interrupt() { return interrupt_; }
  StopTokens stops() const { return {interrupt_.drain(), interrupt_.leave()}; }
  FileSystem& files();
  const Environment& environment();
  Clock& clock();
  Random& random();

  // kInvalidArgument for a bad endpoint.
  Result<Provider*> provider();
  // Secret Manager. kInvalidArgument for a bad endpoint.
  Result<Secrets*> secrets();
  // The API itself, for what is not about nodes. kInvalidArgument for a bad endpoint.
  Result<gcp::RestClient*> rest();
  // OS Login and Compute Engine: CLOUDSDK_API_ENDPOINT_OVERRIDES_OSLOGIN and _COMPUTE, else
  // Google's; but where the TPU API is served by this machine, it is asked for all.
  Result<gcp::RestClient*> os_login();
  Result<gcp::RestClient*> compute();
  // Cloud Storage: STORAGE_EMULATOR_HOST and CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE, else
  // Google's. kInvalidArgument for a bad endpoint.
  Result<gcp::StorageClient*> storage();
  gcp::Credentials& credentials();
  Result<ZoneCatalogue*> zone_catalogue();
  std::string endpoint() const;  // as given, or Google's
  ssh::Keyring& keyring();
  ssh::KnownHostsFiles& known_hosts();
  ssh::Transport& ssh();
  StepRunner& steps();
  // Of a file, of gs://BUCKET/PREFIX, of etcd://HOSTS/PREFIX, or of https://… in Terraform's http
  // protocol. What is wrong with a URL, or with the endpoint of its service, is the error of each
  // of the store's methods.
  std::unique_ptr<StateStore> OpenStore(const std::string& path);
  std::unique_ptr<StateStore> OpenStore() { return OpenStore(StatePath()); }
  // What sessions are lent. A key that is made is told of.
  AccessDoors access_doors();
  PlanDoors plan_doors();
  ApplyDoors apply_doors();
  PodDoors pod_doors();
  CiDoors ci_doors();

  // What the flags of every command say. `operation`: for the lock; empty: none is wanted.
  PlanRequest plan_request(PlanOptions plan, const std::string& operation = {});
  // With --lock and --lock-timeout; who waits, or takes no lock, is told so.
  LockRequest lock_request(const std::string& operation);
  // Of jobs that come back. Waits for the state's lock for a minute at least: nobody but an apply
  // holds it for long.
  WantedJobsEdit wanted_jobs(std::function<std::unique_ptr<StateStore>()> open_store);
  WantedJobsEdit wanted_jobs() {
    return wanted_jobs([this] { return OpenStore(); });
  }
  ReturnDoors return_doors(const KnownPods& pods, const WantedJobsEdit& edit);
  LoadOptions SpecOptions();
  Spec ReadSpec(Diagnostics& problems);
  // With what it takes from other states, which are read for it.
  Spec ReadWholeSpec(Diagnostics& problems);
  KnownKinds kinds() const;
  // What could not be saved, or a state: of a file, or of an object beside a state
  // ("gs://BUCKET/PREFIX/errored-42.json"). kNotFound.
  Result<RunNotes> ReadNotes(const std::string& place);
  // What is stored at that place, an empty state where that is nothing; what could not be saved,
  // where it names that.
  Result<State> LoadState(const std::string& place);
  // Removes such a file or object, of podctl's own making, since it is stored now; false: it stays.
  bool DropNotes(const std::string& place);
  // Makes the bucket of the state at `url`; false: it was there. `location`: as Cloud Storage names
  // them.
  Result<bool> MakeStateBucket(const std::string& url, const std::string& project,
                               const std::string& location);
  // Whether git follows the file, there or not; nullopt: that cannot be told.
  std::optional<bool> GitFollows(const std::string& path);
  // Where the state is, for commands that need no spec: --state, else the spec's `state:` (problems
  // elsewhere in the spec do not matter here), else podctl.state.json beside the one file or in the
  // one folder that -f names; in the current folder when it names several.
  std::string StatePath();
  StateChoice state_choice() const;  // the same, for who has loaded the spec
  // An error where several -f leave two states to choose from, and nobody said which.
  Result<void> CheckStatePlace();

 private:
  // Without a word on `--lock=false`: of who locks it once more.
  LockRequest QuietLockRequest(const std::string& operation);
  struct Parts;
  std::string LikelyStatePath() const;
  const std::shared_ptr<WithheldFiles>& Withheld();
  Result<BlobStore*> PlaceOf(const std::string& url);
  Result<std::string> ReadStateObject(const std::string& url);
  Result<std::unique_ptr<BlobStore>> EtcdPlaceOf(const std::string& url);
  std::unique_ptr<StateStore> OpenHttpStore(const std::string& url);
  std::vector<std::string> AsideFolders() const;
  Provenance RunOf() const;
  void AddCommit(Provenance* run);
  LockInfo LockFor(const std::string& operation) const;
  Result<gcp::RestClient*> Beside(std::optional<gcp::RestClient>& client, const char* variable,
                                  const char* of_google, const char* of_machine);
  std::string FolderOfSpec(const std::string& path) const;
  // Of a service whose regions have hosts of their own, which `variable` says; nullopt: Google's.
  Result<std::optional<gcp::Endpoint>> RegionalEndpoint(const char* variable) const;

  const GlobalOptions& options_;
  Streams& streams_;
  Interrupt& interrupt_;
  std::unique_ptr<Parts> parts_;
  std::unique_ptr<Reporter> reporter_;
};

}  // namespace podctl
