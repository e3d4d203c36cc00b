#include "cmd/wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>

#include "cmd/ci_doors.h"
#include "cmd/command_line.h"
#include "cmd/reporter.h"
#include "cmd/run_account.h"
#include "cmd/terminal.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/kinds/kinds.h"
#include "plans/session/apply.h"
#include "plans/session/known_pods.h"
#include "plans/session/os_login.h"
#include "plans/session/saved_plan.h"
#include "plans/session/whole_spec.h"
#include "providers/base/text.h"
#include "providers/bootstrap/ssh_step_runner.h"
#include "providers/etcd/client.h"
#include "providers/etcd/place.h"
#include "providers/forges/rest_forge.h"
#include "providers/gcp/credentials/credential_paths.h"
#include "providers/gcp/gcloud_config.h"
#include "providers/gcp/secret_manager.h"
#include "providers/gcp/storage.h"
#include "providers/gcp/tpu_provider.h"
#include "providers/gcp/vertex_jobs.h"
#include "providers/http/curl_transport.h"
#include "providers/http/url.h"
#include "providers/os/ci_run.h"
#include "providers/os/git.h"
#include "providers/os/process.h"
#include "providers/slices.h"
#include "providers/ssh/keys/known_hosts.h"
#include "providers/ssh/libssh2/fan_out.h"
#include "providers/ssh/openssh/openssh_transport.h"
#include "providers/ssh/transport.h"
#include "state/state_json.h"
#include "state/stores/etcd/etcd_blobs.h"
#include "state/stores/gcs/gcs_blobs.h"
#include "state/stores/http/http_store.h"
#include "state/stores/journal_store.h"
#include "state/stores/local_store.h"
#include "state/stores/no_blobs.h"

namespace podctl {
namespace {

constexpr const char* kDefaultState = "podctl.state.json";
// How long a bootstrap step waits for a worker that is READY but does not answer SSH yet.
constexpr std::chrono::minutes kBootPatience{5};
// And, once it answers, for the published key to reach it: the guest agent may come up after sshd.
constexpr std::chrono::minutes kKeyPatience{2};

std::optional<std::string> FirstOf(const Environment& environment,
                                   std::initializer_list<const char*> names) {
  for (const char* name : names) {
    auto value = environment.Get(name);
    if (value && !value->empty()) return value;
  }
  return std::nullopt;
}

// What curl's users name, else what gcloud's do.
http::CaSettings CertificatesFor(const Environment& environment, FileSystem& files) {
  http::CaSettings named = http::FindCaSettings(environment);
  if (!named.empty()) return named;
  constexpr const char* kVariable = "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE";
  if (auto file = FirstOf(environment, {kVariable})) return {*file, "", kVariable};
  const auto file = gcp::ReadGcloudConfig(environment, files).ca_certificates;
  if (!file) return http::FindSystemCa(files, http::BuiltInCa());
  return {*file, "", "gcloud's core/custom_ca_certs_file"};
}

void TellOfWait(std::chrono::milliseconds wait, const std::string& why) {
  RemarkOfAnyThread(
      fmt::format("Trying again in {}: {}", FormatDuration(wait), VisibleControls(why)));
}

// Of one request to a place that keeps states, and of what goes wrong with a lock there.
void TellOfPause(const Error& why, std::chrono::milliseconds pause) {
  RemarkOfAnyThread(fmt::format("Trying again in {}: {}", FormatDuration(pause), why.message));
}
void TellWarning(const std::string& warning) {
  RemarkOfAnyThread("Warning: " + warning);
}

http::RetryPolicy Patience() {
  http::RetryPolicy policy;
  policy.on_long_wait = TellOfWait;
  return policy;
}

}  // namespace

struct Wiring::Parts {
  // An etcd, by certificates of its own.
  struct EtcdServers {
    EtcdServers(etcd::Place place, const etcd::Settings& settings, http::CaSettings ca)
        : transport(fmt::format("podctl/{}", kVersion), std::move(ca),
                    {settings.certificate_file, settings.key_file, "ETCDCTL_CERT, ETCDCTL_KEY"}),
          client(std::move(place), settings, transport) {}

    http::CurlTransport transport;
    etcd::Client client;
  };

  RealFileSystem files;
  RealEnvironment environment;
  RealClock clock;
  RealRandom random;
  RealProcessRunner processes;
  std::optional<http::CurlTransport> http;
  std::optional<gcp::Credentials> credentials;
  std::optional<gcp::RestClient> rest;
  std::optional<gcp::RestClient> os_login;
  std::optional<gcp::RestClient> compute;
  std::optional<gcp::TpuProvider> provider;
  std::optional<gcp::VertexJobs> jobs;
  std::optional<gcp::SecretManager> secrets;
  std::optional<gcp::StorageClient> storage;
  std::map<std::string, std::unique_ptr<EtcdServers>> etcds;  // by URL
  std::map<std::string, std::unique_ptr<BlobStore>> places;   // of states, by URL
  std::optional<SlicedProvider> sliced;
  BuiltInKinds kinds{{files}};
  std::optional<ssh::Keyring> keyring;
  std::optional<ssh::KnownHostsFiles> known_hosts;
  std::optional<ssh::FanOut> fan_out;
  std::optional<ssh::OpenSshTransport> openssh;
  std::optional<ssh::TransportSelector> transports;
  std::shared_ptr<WithheldFiles> withheld;
  std::optional<SshStepRunner> steps;
};

Wiring::Wiring(const GlobalOptions& options, Streams& streams, Interrupt& interrupt)
    : options_(options),
      streams_(streams),
      interrupt_(interrupt),
      parts_(std::make_unique<Parts>()) {}

Wiring::~Wiring() = default;

Reporter& Wiring::reporter() {
  if (!reporter_) reporter_ = MakeReporter(streams_, parts_->clock, interrupt_.drain());
  return *reporter_;
}
void Wiring::SpeakMarkdown() {
  reporter_ = MakeMarkdownReporter(streams_, parts_->clock, interrupt_.drain());
}

void Wiring::KeepAccount(RunAccount* account) {
  static_cast<void>(reporter());
  reporter_ = MakeKeepingReporter(std::move(reporter_), streams_, interrupt_.drain(), account);
}

FileSystem& Wiring::files() {
  return parts_->files;
}
const Environment& Wiring::environment() {
  return parts_->environment;
}
Clock& Wiring::clock() {
  return parts_->clock;
}
Random& Wiring::random() {
  return parts_->random;
}

std::string Wiring::endpoint() const {
  if (options_.endpoint) return *options_.endpoint;
  const auto named =
      FirstOf(parts_->environment, {"PODCTL_ENDPOINT", "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU"});
  return named.value_or(gcp::Endpoint().base_url);
}

Result<std::optional<gcp::Endpoint>> Wiring::RegionalEndpoint(const char* variable) const {
  auto text = FirstOf(parts_->environment, {variable});
  if (!text) {
    text = endpoint();
    // One of Google's hosts serves one API: the TPU's is none for others.
    if (text->find(".googleapis.com") != std::string::npos) return std::optional<gcp::Endpoint>();
  }
  auto parsed = gcp::ParseEndpoint(*text);
  if (!parsed) return parsed.error();
  return std::optional<gcp::Endpoint>(*parsed);
}

Result<Provider*> Wiring::provider() {
  if (parts_->sliced) return &*parts_->sliced;
  auto parsed = gcp::ParseEndpoint(endpoint());
  if (!parsed) return parsed.error();
  auto jobs_endpoint = RegionalEndpoint("CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM");
  if (!jobs_endpoint) return jobs_endpoint.error();
  gcp::Credentials& tokens = credentials();
  parts_->provider.emplace(*parsed, *parts_->http, tokens, parts_->clock, parts_->random,
                           Patience());
  parts_->jobs.emplace(*jobs_endpoint, *parts_->http, tokens, parts_->clock, parts_->random,
                       Patience());
  parts_->provider->LendJobs(&*parts_->jobs);
  parts_->sliced.emplace(*parts_->provider);
  return &*parts_->sliced;
}

Result<Secrets*> Wiring::secrets() {
  if (parts_->secrets) return &*parts_->secrets;
  auto parsed = RegionalEndpoint("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER");
  if (!parsed) return parsed.error();
  gcp::Credentials& tokens = credentials();
  parts_->secrets.emplace(*parsed, *parts_->http, tokens, parts_->clock, parts_->random,
                          Patience());
  return &*parts_->secrets;
}

Result<gcp::RestClient*> Wiring::rest() {
  if (parts_->rest) return &*parts_->rest;
  auto parsed = gcp::ParseEndpoint(endpoint());
  if (!parsed) return parsed.error();
  gcp::Credentials& tokens = credentials();
  parts_->rest.emplace(*parsed, *parts_->http, tokens, parts_->clock, parts_->random, Patience());
  return &*parts_->rest;
}

// What is asked there is a help, and must not hold anything up for long.
Result<gcp::RestClient*> Wiring::Beside(std::optional<gcp::RestClient>& client,
                                        const char* variable, const char* of_google,
                                        const char* of_machine) {
  if (client) return &*client;
  auto tpu = gcp::ParseEndpoint(endpoint());
  if (!tpu) return tpu.error();
  const auto url = http::ParseUrl(tpu->base_url);
  const bool local = url && http::IsLoopback(*url);
  const auto named = FirstOf(parts_->environment, {variable});
  auto parsed = gcp::ParseEndpoint(named ? *named : local ? tpu->base_url + of_machine : of_google);
  if (!parsed) return parsed.error();
  http::RetryPolicy policy = Patience();
  policy.attempts = 3;
  policy.connection_attempts = 1;
  gcp::Credentials& tokens = credentials();
  client.emplace(*parsed, *parts_->http, tokens, parts_->clock, parts_->random, policy);
  return &*client;
}

Result<gcp::RestClient*> Wiring::os_login() {
  return Beside(parts_->os_login, "CLOUDSDK_API_ENDPOINT_OVERRIDES_OSLOGIN",
                "https://oslogin.googleapis.com/", "");
}

Result<gcp::RestClient*> Wiring::compute() {
  return Beside(parts_->compute, "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE",
                "https://compute.googleapis.com/compute/v1/", "compute/v1/");
}

gcp::Credentials& Wiring::credentials() {
  Parts& parts = *parts_;
  if (!parts.credentials) {
    parts.http.emplace(fmt::format("podctl/{}", kVersion),
                       CertificatesFor(parts.environment, parts.files));
    parts.credentials.emplace(gcp::CredentialDoors{parts.environment, parts.files, parts.processes,
                                                   *parts.http, parts.clock, parts.random});
  }
  return *parts.credentials;
}

Result<ZoneCatalogue*> Wiring::zone_catalogue() {
  if (auto made = provider(); !made) return made.error();
  return &*parts_->provider;
}

ssh::Keyring& Wiring::keyring() {
  if (!parts_->keyring) parts_->keyring.emplace(parts_->environment, parts_->files);
  return *parts_->keyring;
}

ssh::KnownHostsFiles& Wiring::known_hosts() {
  if (!parts_->known_hosts) parts_->known_hosts.emplace(parts_->environment, parts_->files);
  return *parts_->known_hosts;
}

ssh::Transport& Wiring::ssh() {
  if (!parts_->transports) {
    parts_->fan_out.emplace(keyring(), parts_->clock, parts_->random,
                            [](const std::string& text) { RemarkOfAnyThread("Warning: " + text); });
    parts_->openssh.emplace(parts_->environment, parts_->clock, parts_->random);
    parts_->transports.emplace(
        *parts_->fan_out, *parts_->openssh,
        [&known = known_hosts()](WorkerAccess& worker) { known.Consult(worker); });
  }
  return *parts_->transports;
}

StepRunner& Wiring::steps() {
  if (!parts_->steps) {
    ssh::Limits limits;
    limits.retry = kBootPatience;
    limits.auth_retry = kKeyPatience;
    limits.abandon = interrupt_.leave();
    parts_->steps.emplace(ssh(), parts_->files, parts_->random, limits, *Withheld());
  }
  return *parts_->steps;
}

namespace {

Result<gcp::StoragePlace> BucketOf(const std::string& url) {
  if (url.starts_with("gs://")) return gcp::ParseStoragePlace(url);
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("a state cannot be at {}", VisibleControls(url)),
                   "write a path, such as `podctl.state.json`, or `gs://BUCKET/PREFIX`, "
                   "`etcd://HOST:2379/PREFIX`, or the https URL of a state in GitLab or Gitea");
}

// "" where nobody says; as Terraform's gcs backend, and gcloud, have them.
gcp::StorageSettings StorageSettingsOf(const Environment& environment) {
  return {FirstOf(environment, {"GOOGLE_BILLING_PROJECT", "CLOUDSDK_BILLING_QUOTA_PROJECT"})
              .value_or(""),
          FirstOf(environment, {"GOOGLE_KMS_ENCRYPTION_KEY"}).value_or("")};
}

}  // namespace

Result<gcp::StorageClient*> Wiring::storage() {
  if (parts_->storage) return &*parts_->storage;
  auto endpoint = gcp::FindStorageEndpoint(parts_->environment);
  if (!endpoint) return endpoint.error();
  gcp::Credentials& tokens = credentials();
  http::RetryPolicy policy = Patience();
  // Who keeps a state there tries again by himself, and says so.
  policy.attempts = 2;
  policy.connection_attempts = 1;
  parts_->storage.emplace(*endpoint, *parts_->http, tokens, parts_->clock, parts_->random,
                          StorageSettingsOf(parts_->environment), policy);
  return &*parts_->storage;
}

Result<BlobStore*> Wiring::PlaceOf(const std::string& url) {
  if (NamesNotes(url)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is what a run could not save, and not a state", VisibleControls(url)),
        fmt::format("`podctl show {0}` shows it; the state beside it is {1}",
                    ShellQuote(VisibleControls(url)),
                    VisibleControls(url.substr(0, url.rfind('/')))));
  }
  std::unique_ptr<BlobStore>& place = parts_->places[url];
  if (!place && etcd::IsPlace(url)) {
    auto made = EtcdPlaceOf(url);
    if (!made) return made.error();
    place = *std::move(made);
  } else if (!place) {
    auto bucket = BucketOf(url);
    if (!bucket) return bucket.error();
    auto client = storage();
    if (!client) return client.error();
    place = std::make_unique<GcsBlobs>(**client, *std::move(bucket));
  }
  return place.get();
}

Result<std::unique_ptr<BlobStore>> Wiring::EtcdPlaceOf(const std::string& url) {
  auto place = etcd::ParsePlace(url, parts_->environment);
  if (!place) return place.error();
  auto settings = etcd::FindSettings(parts_->environment);
  if (!settings) return settings.error();
  if (auto may = etcd::MayCarry(*place, *settings, parts_->environment); !may) return may.error();
  http::CaSettings ca{settings->ca_file, "", "ETCDCTL_CACERT"};
  if (ca.empty()) {
    ca = CertificatesFor(parts_->environment, parts_->files);
    if (ca.empty()) ca.named_by = "ETCDCTL_CACERT";
  }
  auto& servers = parts_->etcds[url];
  servers = std::make_unique<Parts::EtcdServers>(*std::move(place), *settings, std::move(ca));
  return std::unique_ptr<BlobStore>(std::make_unique<EtcdBlobs>(servers->client, parts_->random));
}

Result<bool> Wiring::MakeStateBucket(const std::string& url, const std::string& project,
                                     const std::string& location) {
  auto bucket = BucketOf(url);
  if (!bucket) return bucket.error();
  auto client = storage();
  if (!client) return client.error();
  const std::stop_token stop = interrupt_.drain();
  auto made = (*client)->MakeBucket(project, bucket->bucket, location, stop);
  if (made) return true;
  if (made.error().code != ErrorCode::kAlreadyExists) return OfStateIn(*bucket, made.error());
  auto listed = (*client)->List(bucket->bucket, bucket->prefix, "", stop);
  if (!listed && listed.error().code == ErrorCode::kPermissionDenied) {
    return MakeError(
        ErrorCode::kAlreadyExists,
        fmt::format("there is a bucket gs://{} already, and it is closed to you: all of Google "
                    "Cloud shares one set of names",
                    bucket->bucket),
        fmt::format("If it is not yours, choose another name: `state: gs://{}-{}/…` in the spec, "
                    "for example. If it is: {}",
                    project, bucket->bucket, listed.error().hint));
  }
  if (!listed) return listed.error();
  auto place = PlaceOf(url);
  if (!place) return place.error();
  if (auto can = (*place)->CanReplace(stop); !can) return can.error();
  return false;
}

Result<std::string> Wiring::ReadStateObject(const std::string& url) {
  const auto slash = url.rfind('/');
  auto place = PlaceOf(url.substr(0, slash));
  if (!place) return place.error();
  auto blob = (*place)->Get(url.substr(slash + 1), interrupt_.drain());
  if (!blob) return blob.error();
  if (!*blob) return MakeError(ErrorCode::kNotFound, fmt::format("{} is not there", url));
  return std::move((*blob)->bytes);
}

Result<RunNotes> Wiring::ReadNotes(const std::string& place) {
  auto text =
      IsStateUrl(place) ? ReadStateObject(place) : parts_->files.Read(place, kMaxStateBytes);
  if (!text) return text.error();
  return NotesFromJson(*text, place, kinds().remembered);
}

Result<State> Wiring::LoadState(const std::string& place) {
  if (NamesNotes(place)) {
    auto notes = ReadNotes(place);
    if (!notes) return notes.error();
    return std::move(notes->state);
  }
  auto stored = OpenStore(place)->Load();
  if (!stored) return stored.error();
  return std::move(stored->state).value_or(State{});
}

bool Wiring::DropNotes(const std::string& place) {
  if (!NamesNotes(place)) return false;
  if (!IsStateUrl(place)) return parts_->files.Remove(place).has_value();
  const auto slash = place.rfind('/');
  auto blobs = PlaceOf(place.substr(0, slash));
  if (!blobs) return false;
  const std::string name = place.substr(slash + 1);
  const auto blob = (*blobs)->Get(name, interrupt_.drain());
  return blob && *blob && (*blobs)->DeleteIf(name, (*blob)->version, interrupt_.drain());
}

namespace {

// A URL for messages: what stands before an `@` may be a password.
std::string WithoutUser(const std::string& url) {
  const std::size_t start = url.find("://") + 3;
  const std::size_t at = url.rfind('@', url.find('/', start));
  return at == std::string::npos || at < start ? url : url.substr(0, start) + url.substr(at + 1);
}

}  // namespace

Provenance Wiring::RunOf() const {
  const CiRun ci = FindCiRun(parts_->environment);
  Provenance run;
  run.who = LockHolder::ThisProcess().who;
  run.podctl = kVersion;
  run.ci = ci.ci;
  run.run_url = ci.url;
  run.run_id = ci.id;
  run.attempt = ci.attempt;
  run.commit = ci.commit;
  return run;
}

// A pipeline says it of itself.
void Wiring::AddCommit(Provenance* run) {
  if (!run->commit.empty()) return;
  const std::string folder = options_.files.empty() ? "." : FolderOfSpec(options_.files.front());
  GitFolder git(parts_->processes, folder, interrupt_.drain());
  const auto commit = git.Commit();
  if (!commit) return;
  run->commit = commit->id;
  run->dirty = commit->dirty;
}

std::optional<bool> Wiring::GitFollows(const std::string& path) {
  GitFolder git(parts_->processes, FolderOf(path), interrupt_.drain());
  return git.Follows(path.substr(path.rfind('/') + 1));
}

std::unique_ptr<StateStore> Wiring::OpenHttpStore(const std::string& url) {
  auto place = FindHttpPlace(url, parts_->environment);
  if (!place) return NoHttpStore(url, place.error());
  credentials();  // they make the transport
  HttpStoreOptions options;
  options.run = RunOf();
  options.keep = static_cast<std::size_t>(options_.state_history);
  options.aside_folders = AsideFolders();
  options.on_warning = TellWarning;
  options.lock = options_.lock;
  return std::make_unique<HttpStore>(
      *std::move(place),
      HttpStoreDoors{*parts_->http, parts_->files, parts_->clock, parts_->random, TellOfWait},
      LockHolder::ThisProcess(), kinds().remembered, std::move(options));
}

// For what could not be saved elsewhere: the folder of the run, else one that outlives it.
std::vector<std::string> Wiring::AsideFolders() const {
  std::vector<std::string> folders = {"."};
  const auto state_home = FirstOf(parts_->environment, {"XDG_STATE_HOME"});
  const auto home = FirstOf(parts_->environment, {"HOME"});
  if (state_home && state_home->starts_with('/')) {
    folders.push_back(*state_home + "/podctl");
  } else if (home) {
    folders.push_back(*home + "/.local/state/podctl");
  }
  folders.push_back(parts_->environment.Get("TMPDIR").value_or("/tmp"));
  return folders;
}

std::unique_ptr<StateStore> Wiring::OpenStore(const std::string& path) {
  if (IsHttpUrl(path)) return OpenHttpStore(path);
  if (const std::string meant = MeantStateUrl(path); !meant.empty() || IsStateUrl(path)) {
    Result<BlobStore*> place =
        MakeError(ErrorCode::kInvalidArgument,
                  fmt::format("`{}` is neither a path nor a URL", VisibleControls(path)),
                  fmt::format("did you mean `{}`?", VisibleControls(meant)));
    if (meant.empty()) place = PlaceOf(path);
    if (!place) {
      Error why = place.error();
      if (path == options_.state) why.message = "--state: " + why.message;
      parts_->places[path] = std::make_unique<NoBlobs>(WithoutUser(path), std::move(why));
      place = parts_->places[path].get();
    }
    JournalStoreOptions options;
    options.run = RunOf();
    options.complete_run = [this](Provenance* run) { AddCommit(run); };
    options.keep = static_cast<std::size_t>(options_.state_history);
    options.aside_folders = AsideFolders();
    options.on_pause = TellOfPause;
    options.on_warning = TellWarning;
    options.lock = options_.lock;
    return std::make_unique<JournalStore>(**place, parts_->files, parts_->clock, parts_->random,
                                          LockHolder::ThisProcess(), kinds().remembered,
                                          std::move(options));
  }
  LocalStoreOptions options;
  options.keep = static_cast<std::size_t>(options_.state_history);
  options.temp_folder = parts_->environment.Get("TMPDIR").value_or(options.temp_folder);
  options.lock = options_.lock;
  return std::make_unique<LocalStore>(path, parts_->files, parts_->clock, parts_->random,
                                      LockHolder::ThisProcess(), kinds().remembered,
                                      std::move(options));
}

AccessDoors Wiring::access_doors() {
  return {
      files(), environment(), keyring(),
      [this] { reporter().Note("Made the SSH key ~/.ssh/podctl_ed25519, since there was none."); },
      [this] {
        return std::make_unique<GoogleLogin>(
            GoogleLoginDoors{compute(), os_login(), credentials(), endpoint(), environment(),
                             files(), keyring(), clock(), interrupt_.drain()});
      }};
}

PlanDoors Wiring::plan_doors() {
  return {access_doors(),
          provider(),
          [this](const std::string& path) { return OpenStore(path); },
          interrupt_.drain(),
          secrets(),
          {AsideFolders(), [this](const std::string& file) { return GitFollows(file); }},
          clock(),
          parts_->provider ? &*parts_->provider : nullptr};
}

ApplyDoors Wiring::apply_doors() {
  return {access_doors(), steps(), clock(), random(), interrupt_.drain(), interrupt_.leave()};
}

PodDoors Wiring::pod_doors() {
  return {access_doors(),
          provider(),
          known_hosts(),
          [this] { return OpenStore(); },
          PlaceFlags(options_),
          [this] { return LockFor("exec"); },
          interrupt_.drain(),
          [this](const std::string& remark) { reporter().Note(remark); },
          [this](const Error& why) {
            streams_.err << fmt::format(
                "The host keys seen for the first time could not be remembered: {}\n", why.message);
          },
          [this](const std::string& pod) {
            Diagnostics ignored;  // a spec that is not at hand has it do nothing
            const Spec spec = ReadSpec(ignored);
            const PodSpec* declared = FindDeclaredPod(spec, pod);
            return declared != nullptr && declared->recreate_when_lost;
          }};
}

CiDoors Wiring::ci_doors() {
  return {parts_->files,
          parts_->environment,
          parts_->random,
          parts_->processes,
          streams_,
          options_,
          [this](const ForgePlace& place) {
            credentials();  // they make the transport
            return MakeForge(place, {*parts_->http, parts_->clock, parts_->random, Patience()});
          },
          [this](const PlanRun& run) {
            return PlanAsSaved(run,
                               {SpecOptions(), state_choice(), endpoint(), std::string(kVersion)},
                               parts_->clock, parts_->random);
          },
          interrupt_.leave(),
          interrupt_.drain()};
}

PlanRequest Wiring::plan_request(PlanOptions plan, const std::string& operation) {
  PlanRequest request;
  request.load = SpecOptions();
  request.state = state_choice();
  request.flags = PlaceFlags(options_);
  request.parallelism = options_.parallelism;
  request.plan = std::move(plan);
  if (!operation.empty()) request.lock = lock_request(operation);
  return request;
}

WantedJobsEdit Wiring::wanted_jobs(std::function<std::unique_ptr<StateStore>()> open_store) {
  constexpr std::chrono::milliseconds kLeastWait = std::chrono::minutes(1);
  LockRequest lock = QuietLockRequest("run");
  lock.wait.timeout = std::max(lock.wait.timeout, kLeastWait);
  return WantedJobsEdit({std::move(open_store), std::move(lock), random(), interrupt_.drain()});
}

ReturnDoors Wiring::return_doors(const KnownPods& pods, const WantedJobsEdit& edit) {
  return {
      pods,    ssh(), files(), random(), clock(), parts_->processes, ScratchFolder(environment()),
      stops(), edit};
}

LockRequest Wiring::lock_request(const std::string& operation) {
  if (!options_.lock) {
    reporter().ShowWarning(
        fmt::format("`{}` does not lock the state", operation),
        "With `--lock=false` nothing keeps another run away: both may make what the spec asks for, "
        "and of two that save one is refused, and may be the other. Use it where you know that "
        "nobody else is at work.");
  }
  return QuietLockRequest(operation);
}

LockRequest Wiring::QuietLockRequest(const std::string& operation) {
  LockWait wait(options_.lock_timeout);
  wait.on_wait = [this](const LockInfo& holder, std::chrono::milliseconds waited) {
    reporter().TellLockWait(holder, waited);
  };
  return {[this, operation] { return LockFor(operation); }, std::move(wait)};
}

KnownKinds Wiring::kinds() const {
  return parts_->kinds.known();
}

// One for all: what a spec adds when it is read is withheld when its steps are carried out, too.
const std::shared_ptr<WithheldFiles>& Wiring::Withheld() {
  if (!parts_->withheld) {
    parts_->withheld = std::make_shared<WithheldFiles>();
    for (const std::string& path : gcp::CredentialPaths(parts_->environment, parts_->files)) {
      parts_->withheld->AddCredential(path);
    }
    for (const std::string& path : ssh::UsualKeyFiles(parts_->environment)) {
      parts_->withheld->AddCredential(path);
    }
    // Atlantis plans a pull request where its own keys are.
    for (const char* name : {"ETCDCTL_KEY", "ETCDCTL_CERT", "ATLANTIS_GH_APP_KEY_FILE",
                             "ATLANTIS_CONFIG", "ATLANTIS_SSL_KEY_FILE", "PIP_CONFIG_FILE"}) {
      const auto path = FirstOf(parts_->environment, {name});
      if (path) parts_->withheld->AddCredential(*path);
    }
    const std::string state = LikelyStatePath();
    if (!IsStateUrl(state)) parts_->withheld->AddState(state);
  }
  return parts_->withheld;
}

LoadOptions Wiring::SpecOptions() {
  LoadOptions load;
  load.withheld = Withheld();
  load.state_url = [this](const std::string& url) -> Result<std::string> {
    if (IsHttpUrl(url)) return CheckHttpStateUrl(url);
    if (etcd::IsPlace(url)) {
      auto place = etcd::ParsePlace(url, parts_->environment);
      if (!place) return place.error();
      return std::move(place->url);
    }
    auto bucket = BucketOf(url);
    if (!bucket) return bucket.error();
    return bucket->Text();
  };
  load.kinds = kinds();
  load.paths = options_.files;
  load.vars = options_.vars;
  load.var_files = options_.var_files;
  load.recursive = options_.recursive;
  // Where it is the next day already, people write that.
  load.last_day = FormatTimestamp(clock().Now() + std::chrono::hours(24)).substr(0, 10);
  load.project = options_.project;
  load.zone = options_.zone;
  if (!load.project) {
    load.project = FirstOf(parts_->environment,
                           {"PODCTL_PROJECT", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"});
  }
  for (const char* const name : {"PODCTL_ZONE", "CLOUDSDK_COMPUTE_ZONE"}) {
    if (load.zone) break;
    load.zone = FirstOf(parts_->environment, {name});
    load.zone_from = name;
  }
  if (!load.project || !load.zone) {
    const auto config = gcp::ReadGcloudConfig(parts_->environment, parts_->files);
    if (!load.project) load.project = config.project;
    if (!load.zone) {
      load.zone = config.zone;
      load.zone_from = "gcloud's setting compute/zone";
    }
  }
  return load;
}

StateChoice Wiring::state_choice() const {
  return {LikelyStatePath(), !options_.state.empty()};
}

Spec Wiring::ReadSpec(Diagnostics& problems) {
  return LoadSpec(SpecOptions(), files(), environment(), problems);
}

Spec Wiring::ReadWholeSpec(Diagnostics& problems) {
  WholeSpec whole = LoadWholeSpec(
      SpecOptions(),
      {files(), environment(), [this](const std::string& place) { return OpenStore(place); }},
      [this](const Spec& spec) { return state_choice().For(spec); });
  problems = WithSourceLines(files(), whole.problems);
  return std::move(whole.spec);
}

std::string Wiring::StatePath() {
  if (!options_.state.empty()) return options_.state;
  Diagnostics ignored;
  return state_choice().For(ReadSpec(ignored));
}

std::string Wiring::LikelyStatePath() const {
  if (!options_.state.empty()) return options_.state;
  const std::set<std::string> named(options_.files.begin(), options_.files.end());
  // Of several there is none that all of them are beside; no order of theirs may matter.
  const std::string folder = named.size() == 1 ? FolderOfSpec(*named.begin()) : ".";
  return folder == "." ? kDefaultState : folder + "/" + kDefaultState;
}

std::string Wiring::FolderOfSpec(const std::string& path) const {
  const auto info = parts_->files.Stat(path);
  if (!info || info->kind != FileInfo::Kind::kFolder) return FolderOf(path);
  return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

Result<void> Wiring::CheckStatePlace() {
  const std::set<std::string> named(options_.files.begin(), options_.files.end());
  if (named.size() < 2 || !options_.state.empty()) return {};
  std::string elsewhere;
  for (const std::string& path : named) {
    const std::string folder = FolderOfSpec(path);
    std::error_code unknown;
    if (std::filesystem::equivalent(folder, ".", unknown)) continue;
    const std::string state = folder + "/" + kDefaultState;
    if (files().Stat(state)) elsewhere = state;
    if (!elsewhere.empty()) break;
  }
  if (elsewhere.empty()) return {};
  Diagnostics ignored;
  if (!ReadSpec(ignored).state.empty()) return {};
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("it is not clear which state is meant: {} in the current folder{}, or {}",
                  kDefaultState, files().Stat(kDefaultState) ? "" : " (which is not there yet)",
                  elsewhere),
      fmt::format("With several `-f` and no `state:` in the spec it is the one in the current "
                  "folder; older podctls took the one beside the first `-f`. Say which: `--state "
                  "{}`, `--state {}`, or `state:` in one of the files.",
                  ShellQuote(elsewhere), kDefaultState));
}

LockInfo Wiring::LockFor(const std::string& operation) const {
  const LockHolder self = LockHolder::ThisProcess();
  LockInfo info;
  info.id = parts_->random.Uuid();
  info.operation = operation;
  info.who = self.who;
  info.host = self.host;
  info.pid = self.pid;
  info.command = options_.command_line;
  info.created = FormatTimestamp(parts_->clock.Now());
  const CiRun ci = FindCiRun(parts_->environment);
  info.commit = ci.commit;
  info.run_url = ci.url;
  return info;
}

}  // namespace podctl
