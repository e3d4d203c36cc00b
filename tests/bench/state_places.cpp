#include "tests/bench/state_places.h"

#include <fmt/format.h>

#include <cstdlib>

#include "providers/http/curl_transport.h"
#include "providers/http/url.h"
#include "tests/bench/measure.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

int PortOf(const std::string& url) {
  const auto parsed = http::ParseUrl(url);
  if (!parsed) Fail("no URL: " + url);
  return std::atoi(parsed->port.c_str());
}

void MakeBucket(const std::string& endpoint, const std::string& name) {
  http::CurlTransport transport("podctl-bench");
  http::Request request;
  request.method = "POST";
  request.url = endpoint + "/storage/v1/b?project=p";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = fmt::format(R"({{"name": "{}", "versioning": {{"enabled": true}}}})", name);
  const auto answer = transport.Send(request, {});
  if (!answer || answer->status >= 300) Fail("the emulator makes no bucket");
}

}  // namespace

StateServers StartStateServers() {
  StateServers servers;
  if (HasProgram("etcd")) {
    servers.etcd = testing::EtcdServer::Start();
    if (!servers.etcd) Fail("etcd does not come up");
  } else {
    fmt::print(
        "  etcd is not on this machine (apt-get install etcd-server): etcd:// is left out.\n");
  }
  if (!testing::GiteaServer::Program().empty()) {
    auto gitea = testing::GiteaServer::Start();
    if (!gitea) Fail(gitea.error().message);
    servers.gitea = *std::move(gitea);
  } else {
    fmt::print(
        "  Gitea is not on this machine (gitea in PATH, or its path in PODCTL_GITEA): the tests'\n"
        "  double of it answers in its place, from memory.\n");
  }
  return servers;
}

StatePlace::StatePlace(Engine engine, const std::string& name, const StateServers& servers) {
  switch (engine) {
    case Engine::kLocal:
      break;
    case Engine::kGcs:
      OpenBucket(name);
      break;
    case Engine::kEtcd:
      OpenEtcd(name, servers);
      break;
    case Engine::kHttp:
      OpenHttp(name, servers);
  }
  if (relay_) relay_->Take();
}

std::optional<Relay::Count> StatePlace::Take() {
  return relay_ ? std::optional(relay_->Take()) : std::nullopt;
}

// One number of many, each in a line: "NAME NUMBER".
std::optional<std::int64_t> StatePlace::Written() const {
  if (metrics_.empty()) return std::nullopt;
  http::CurlTransport transport("podctl-bench");
  http::Request request;
  request.method = "GET";
  request.url = metrics_;
  const auto answer = transport.Send(request, {});
  constexpr std::string_view kName = "\netcd_debugging_mvcc_total_put_size_in_bytes ";
  const auto at = answer ? answer->body.find(kName) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  return static_cast<std::int64_t>(std::atof(answer->body.c_str() + at + kName.size()));
}

void StatePlace::OpenBucket(const std::string& name) {
  const std::string endpoint = std::getenv("PODCTL_ENDPOINT");
  MakeBucket(endpoint, name);
  relay_ = std::make_unique<Relay>(PortOf(endpoint), kStateLatency);
  setenv("STORAGE_EMULATOR_HOST", ("http://" + relay_->address()).c_str(), 1);
  spec_ = fmt::format("state: gs://{}/x\n", name);
  terraform_ = fmt::format(
      "terraform {{\n  backend \"gcs\" {{\n    bucket = \"{}\"\n    access_token = \"none\"\n"
      "    storage_custom_endpoint = \"http://{}/storage/v1/\"\n  }}\n}}\n",
      name, relay_->address());
}

void StatePlace::OpenEtcd(const std::string& name, const StateServers& servers) {
  relay_ = std::make_unique<Relay>(PortOf("http://" + servers.etcd->Address()), kStateLatency);
  spec_ = fmt::format("state: etcd://{}/{}\n", relay_->address(), name);
  metrics_ = fmt::format("http://{}/metrics", servers.etcd->Address());
}

void StatePlace::OpenHttp(const std::string& name, const StateServers& servers) {
  std::string path;
  if (servers.gitea) {
    relay_ = std::make_unique<Relay>(servers.gitea->port(), kStateLatency);
    path = testing::GiteaServer::PathOf(name);
    setenv("TF_HTTP_USERNAME", testing::GiteaServer::kUser, 1);
    setenv("TF_HTTP_PASSWORD", testing::GiteaServer::kPassword, 1);
  } else {
    double_ = std::make_unique<testing::StateServer>(testing::StateServer::Kind::kGitea);
    double_on_port_ = std::make_unique<testing::StateServerOnPort>(*double_);
    relay_ = std::make_unique<Relay>(PortOf(double_on_port_->url()), kStateLatency);
    path = double_->path();
    setenv("TF_HTTP_USERNAME", testing::StateServer::kUser, 1);
    setenv("TF_HTTP_PASSWORD", testing::StateServer::kPassword, 1);
  }
  const std::string url = fmt::format("http://{}{}", relay_->address(), path);
  spec_ = fmt::format("state: {}\n", url);
  terraform_ = fmt::format(
      "terraform {{\n  backend \"http\" {{\n    address = \"{0}\"\n    lock_address = "
      "\"{0}/lock\"\n    unlock_address = \"{0}/lock\"\n    lock_method = \"POST\"\n"
      "    unlock_method = \"DELETE\"\n  }}\n}}\n",
      url);
}

}  // namespace podctl::bench
