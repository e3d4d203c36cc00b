// Requests to the emulator, as whoever reaches its port may send them, and the questions of its
// workers to their metadata server.
//
// An input whose first line ends in " HTTP/1.1" is a question to the metadata server. Of any other
// the first line is "METHOD PATH?QUERY", the
// next ones are headers up to a blank line, and the rest is the body. It comes to a service with a
// node, a queued resource, a secret, and an object of Cloud Storage in it.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/json.h"
#include "providers/emulator/api/admin.h"
#include "providers/emulator/api/api.h"
#include "providers/emulator/api/faults.h"
#include "providers/emulator/api/gate.h"
#include "providers/emulator/service/journal.h"
#include "providers/emulator/service/service.h"
#include "providers/emulator/workers/metadata.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

using namespace emulator;  // NOLINT: the whole file speaks of nothing else

constexpr int kPort = 8470;
const std::string kParent = "/v2/projects/demo/locations/europe-west4-a";

std::string_view TakeUntil(std::string_view* text, std::string_view mark) {
  const std::size_t at = text->find(mark);
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + mark.size());
  return taken;
}

// Where the journal lies, in memory where the machine has such a folder; made anew for each input.
const std::string& Folder() {
  static const std::string folder = [] {
    const char* const base = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    std::string pattern = std::string(base) + "/podctl-fuzz-XXXXXX";
    Expect(::mkdtemp(pattern.data()) != nullptr, "a folder can be made");
    return pattern;
  }();
  return folder;
}

// An emulator without sockets and clockwork.
class Cloud {
 public:
  Cloud() {
    std::filesystem::remove_all(Folder());
    auto opened = Journal::Open(Folder());
    Expect(opened.has_value(), "a journal can be made");
    journal_ = *std::move(opened);
    service_ = std::make_unique<Service>(Settings{}, Limits(), journal_.get(), &farm_);
    admin_ = std::make_unique<Admin>(service_.get(), &faults_);
    api_ = std::make_unique<Api>(service_.get(), admin_.get(), &faults_);
    Send("POST", kParent + "/nodes", {{"nodeId", "a"}},
         "{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base'}");
    Send("POST", kParent + "/queuedResources", {{"queuedResourceId", "q"}},
         "{tpu:{nodeSpec:[{parent:'projects/demo/locations/europe-west4-a',nodeId:'b',node:{"
         "acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base'}}]}}");
    Send("POST", "/v1/projects/demo/secrets", {{"secretId", "s"}}, "{replication:{automatic:{}}}");
    Send("POST", "/v1/projects/demo/secrets/s:addVersion", {}, "{payload:{data:'YQ=='}}");
    Ask({.method = "POST",
         .path = "/storage/v1/b",
         .query = {{"project", "demo"}},
         .body = "{name:'bucket',versioning:{enabled:true}}",
         .target = "/storage/v1/b?project=demo"});
    Ask({.method = "POST",
         .path = "/upload/storage/v1/b/bucket/o",
         .query = {{"uploadType", "media"}, {"name", "o/1"}},
         .body = "bytes",
         .target = "/upload/storage/v1/b/bucket/o?uploadType=media&name=o%2F1"});
  }
  // The journal's lock goes with it, and a folder is left to the next input or removed here.
  ~Cloud() {
    api_.reset();
    admin_.reset();
    service_.reset();
    journal_.reset();
    std::filesystem::remove_all(Folder());
  }
  Cloud(const Cloud&) = delete;
  Cloud& operator=(const Cloud&) = delete;

  HttpReply Send(std::string method, std::string path,
                 std::map<std::string, std::string, std::less<>> query, std::string body) {
    return api_->Handle({.method = std::move(method),
                         .path = std::move(path),
                         .query = std::move(query),
                         .body = std::move(body)});
  }
  HttpReply Ask(const HttpRequest& request) { return api_->Handle(request); }

 private:
  std::unique_ptr<Journal> journal_;
  NoWorkers farm_;
  FaultList faults_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<Api> api_;
};

void AskMetadata(std::string_view input) {
  const auto request = ReadMetadataRequest(input);
  if (!request || !*request) return;
  MachineSet machines;
  machines.host = "t1v-n-1";
  machines.addresses = {"127.64.0.1"};
  machines.node.Set("name", "projects/demo/locations/europe-west4-a/nodes/a");
  machines.node.SetPath("serviceAccount.email", "e@p.iam.gserviceaccount.com");
  machines.metadata.Set("ssh-keys", "alice:secret");
  Expect((*request)->size <= input.size(), "no more is taken than came");
  const MetadataReply reply = AnswerMetadata(**request, MetadataTree(machines, 0), 1'000'000);
  const auto flavor = (*request)->headers.find("metadata-flavor");
  const bool says_so = flavor != (*request)->headers.end() && flavor->second == "Google";
  const bool old_way = (*request)->headers.count("x-google-metadata-request") != 0;
  if (!says_so && !old_way) {
    Expect(reply.body.find("secret") == std::string::npos, "a stranger is told nothing",
           reply.body);
  }
  const std::string sent = Written(**request, reply);
  const std::string head = sent.substr(0, sent.find("\r\n\r\n"));
  Expect(std::count(head.begin(), head.end(), '\n') <= 9, "a request writes no header of its own",
         head);
}

void AskApi(std::string_view input) {
  std::string_view target = TakeUntil(&input, "\n");
  const std::string method(TakeUntil(&target, " "));
  HttpRequest request{.method = method, .path = {}, .query = {}, .body = {}};
  request.target = target;
  const std::string path(TakeUntil(&target, "?"));
  std::map<std::string, std::string, std::less<>> query;
  while (!target.empty()) {
    std::string_view pair = TakeUntil(&target, "&");
    const std::string name(TakeUntil(&pair, "="));
    query[name] = pair;
  }
  RequestHead head;
  head.method = method;
  head.target = path;
  while (!input.empty()) {
    std::string_view line = TakeUntil(&input, "\n");
    if (line.empty()) break;
    const std::string_view name = TakeUntil(&line, ": ");
    std::vector<std::string>* const values = name == "Host"             ? &head.hosts
                                             : name == "Origin"         ? &head.origins
                                             : name == "Sec-Fetch-Site" ? &head.sites
                                             : name == "Sec-Fetch-Dest" ? &head.destinations
                                             : name == "Content-Type"   ? &head.types
                                                                        : nullptr;
    if (values != nullptr) values->emplace_back(line);
    request.headers[LowerCase(name)] = line;
  }
  head.has_body = !input.empty();
  const Refusal refused = CheckRequestHead({.port = kPort, .hosts = {}, .users = {}}, head);
  const bool ours = head.hosts.size() == 1 && head.hosts[0].ends_with(":8470");
  const bool foreign =
      std::any_of(head.origins.begin(), head.origins.end(),
                  [](const std::string& origin) { return !origin.ends_with(":8470"); });
  Expect(refused || (ours && !foreign),
         "a request for another host, or of another origin, is refused");
  Cloud cloud;
  request.path = path;
  request.query = query;
  request.body = input;
  const HttpReply reply = cloud.Ask(request);
  Expect(reply.status >= 100 && reply.status < 600, "a status is one of HTTP's");
  // What was ordered by /emulator/faults strikes the next one.
  Expect(reply.status != 500, "no request breaks the service", reply.body);
  const bool is_json = reply.content_type.rfind("application/json", 0) == 0;
  Expect(!is_json || ParseJson(reply.body).has_value(), "what is said to be JSON is", reply.body);
  const HttpReply list = cloud.Send("GET", kParent + "/nodes", {}, "");
  Expect(list.status == 200 || list.drop || list.status >= 400, "the next request is answered");
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = podctl::fuzz::TextOf(data, size);
  const std::string_view first = input.substr(0, input.find('\n'));
  if (first.find(" HTTP/1.1") != std::string_view::npos) {
    podctl::fuzz::AskMetadata(input);
  } else {
    podctl::fuzz::AskApi(input);
  }
  return 0;
}
