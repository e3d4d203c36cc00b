// Files on the machine that applies (`files` of a spec): an inventory, an ssh_config, what another
// tool reads of the pods.
#pragma once

#include "plans/engine/kind.h"
#include "providers/os/file_system.h"

namespace podctl {

class FileKind final : public Kind {
 public:
  explicit FileKind(FileSystem& files) : files_(files) {}

  const RecordCodec& codec() const override;
  Key SectionKey() const override;
  Declared Read(const YamlEntry& entry, const Section& section) const override;
  void Resolved(Declared* declared) const override;
  std::vector<Address> BuiltOn(const AnyRecord& record) const override;
  std::string MadeFile(const Declared& declared) const override;
  std::vector<Diagnostic> Conflicts(const std::vector<const Declared*>& all) const override;
  std::optional<Look> Looks(const Declared* declared, const AnyRecord* record,
                            bool refresh) const override;
  bool Settle(const Address& address, const Value& seen, const std::string& digest_key,
              AnyRecord* record, std::vector<std::string>* notes) const override;
  std::unique_ptr<KindPlan> Begin(const PlanningContext& input) const override;
  bool follows(const Change& change) const override;
  Value PreconditionOf(const Change& change, const Value& seen) const override;
  std::string DiffersFrom(const Value& precondition, const Value& seen) const override;
  Value WritePayload(const Payload& payload) const override;
  Payload ReadPayload(const Value& value, const std::string& way,
                      std::string* problem) const override;
  void StartAt(const std::string& folder, Payload* payload) const override;
  std::string WhatCannotBe(const Change& change) const override;
  std::vector<AttributeChange> ShownOf(const Change& change,
                                       const ReferenceLookup& nodes) const override;
  std::vector<Particular> ParticularsOf(const Change& change,
                                        const AnyRecord* prior) const override;
  void VisitSecrets(const Address& address, Payload* payload,
                    const SecretVisitor& visit) const override;
  void Note(const Change& change, TaskContext& context) const override;
  std::unique_ptr<Task> MakeTask(const Change& change, TaskContext& context) const override;
  ChangeWords WordsOf(const Change& change) const override;
  ShownObject After(const Change& change) const override;
  std::vector<Configured> ConfiguredOf(const Change& change) const override;

 private:
  FileSystem& files_;
};

}  // namespace podctl
