#include "providers/emulator/os_login.h"
#include "providers/emulator/service.h"

namespace podctl::emulator {

// The node's own word goes before the project's.
bool Service::IsOsLogin(const Node& node) const {
  constexpr const char* kKey = "enable-oslogin";
  const Value* own = node.resource["metadata"].Find(kKey);
  const Value& said = own != nullptr ? *own : project_metadata_[kKey];
  return OsLogin::IsOn(said.AsString());
}

std::string Service::AccountsOf(const Node& node) const {
  if (IsOsLogin(node)) return os_login_.Accounts(clock_.NowMs());
  return node.resource["metadata"]["ssh-keys"].AsString();
}

void Service::TellMachines() {
  for (const auto& [name, node] : nodes_) farm_->SetMetadata(Machines(node));
}

Answer Service::LoginProfile(const std::string& email) {
  const std::lock_guard lock(mutex_);
  return os_login_.Profile(email);
}

Answer Service::ImportLoginKey(const std::string& email, const Value& key) {
  const std::lock_guard lock(mutex_);
  Answer answer = os_login_.Import(email, key, clock_.NowMs());
  if (!std::holds_alternative<Value>(answer)) return answer;
  // A full disk shows at the next request.
  static_cast<void>(journal_->Put("login:" + email, os_login_.RecordOf(email)));
  TellMachines();
  return answer;
}

void Service::SetProjectMetadata(const Value& metadata) {
  const std::lock_guard lock(mutex_);
  project_metadata_ = metadata;
  // A full disk shows at the next request.
  static_cast<void>(journal_->Put("projectMetadata:", metadata));
  TellMachines();
}

Value Service::ProjectMetadata() {
  const std::lock_guard lock(mutex_);
  return project_metadata_;
}

}  // namespace podctl::emulator
