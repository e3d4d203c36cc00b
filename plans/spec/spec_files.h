// Finds and reads the files of a spec: what `-f` names, folders included. Knows YAML trees, but not
// what stands in them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/spec/problems.h"
#include "plans/spec/value_reader.h"
#include "plans/spec/yaml_tree.h"
#include "providers/os/file_system.h"

namespace podctl {

inline constexpr const char* kDefaultSpecFile = "podctl.yaml";

struct SpecDocument {
  std::unique_ptr<SourceFile> file;
  YamlNodePtr root;  // a map; nullptr when the file was not readable, which has been reported
};

struct SpecSearch {
  bool recursive = false;                   // folders below folders, too
  std::vector<std::string> var_files = {};  // are no spec, also where a folder holds them
};

// `paths` empty: podctl.yaml in the current folder. A file named twice is read once. Of a
// folder: *.yaml and *.yml by name, but no hidden ones, variable files or *.vars.yaml; links to
// folders and hidden folders are not gone down into. `texts`: files
// whose text is given, by path, and which are not read.
std::vector<SpecDocument> ReadSpecFiles(const std::vector<std::string>& paths,
                                        const SpecSearch& search, FileSystem& files,
                                        Problems& problems,
                                        const std::map<std::string, std::string>& texts = {});
// A file that holds a map of variables. No message shows its lines: any may be sensitive.
SpecDocument ReadVariableFile(const std::string& path, FileSystem& files, Problems& problems);

// ---- One YAML map under another: `defaults` under a pod, one file's `defaults` beside another's.

// What `over` says wins; maps are merged deep, everything else is taken whole. A metadata entry is
// taken whole too ({file: …} of the pod is not mixed with {env: …} of the defaults), and of two
// keys that exclude each other the pod's alone is kept.
YamlNodePtr MergeUnder(const YamlNodePtr& under, const YamlNodePtr& over);

// Two maps of equal rank: the same key in both with another value is an error with both places.
YamlNodePtr MergeEqual(const YamlNodePtr& first, const YamlNodePtr& second,
                       const std::string& context, ValueReader& reader);

// ---- Which `project`, `zone` and `defaults` hold for what which file of a spec declares.
//
// What a file says holds for its own things; what a file without any says, for those of all files.
// A project or zone that a file does not say is the one that all others agree on. Knows nothing of
// what stands in a thing.

struct DefaultPlace {
  std::optional<std::string> project;
  std::optional<std::string> zone;
};

class FileScopes {
 public:
  // One file after the other, in their order. `root` is lent and must outlive this. `kinds`: what
  // a file may declare.
  void Add(const YamlNode& root, Kinds kinds);

  // After all files: reports what contradicts itself. `otherwise`: where no file says it.
  void Settle(ValueReader& reader, const DefaultPlace& otherwise);

  // For the things of the file; after Settle.
  const DefaultPlace& PlaceOf(const SourceFile& file) const { return scopes_.at(&file).place; }
  const YamlNodePtr& DefaultsOf(const SourceFile& file) const {  // nullptr: none
    return scopes_.at(&file).defaults;
  }
  // For who has no file: what all files agree on, else `otherwise`; "" where they differ.
  const DefaultPlace& place() const { return place_; }
  // Each `defaults` once.
  const std::vector<YamlNodePtr>& all_defaults() const { return all_defaults_; }
  // What is to be done about a project or zone that a thing lacks; empty: files do not differ on
  // it.
  std::string Cure(const std::string& key) const;

 private:
  struct Scope {
    const YamlNode* root = nullptr;
    bool has_things = false;
    DefaultPlace place;
    YamlNodePtr defaults;
  };
  using Member = std::optional<std::string> DefaultPlace::*;

  void SettleKey(ValueReader& reader, const std::string& key, Member member,
                 const std::optional<std::string>& otherwise);
  void SettleDefaults(ValueReader& reader);
  void WarnOfOthers(ValueReader& reader, const YamlNode& others, const YamlNode& root) const;

  Kinds kinds_;
  std::vector<const SourceFile*> files_;
  std::map<const SourceFile*, Scope> scopes_;
  std::vector<YamlNodePtr> all_defaults_;
  DefaultPlace place_;
  std::map<std::string, std::string> differ_;  // key -> files that differ on it, for people
};

}  // namespace podctl
