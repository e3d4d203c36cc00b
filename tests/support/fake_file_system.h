// A file system in memory that can fail, fill up and lose power, for tests of what must not be
// lost.
//
// It keeps two pictures: what programs see, and what has reached the disk. Bytes reach the disk by
// the fsync in WriteNew; names in a folder (created, renamed, removed) by SyncFolder. Each is
// independent of the other, as POSIX has it: a disk is free to keep any subset of what was not
// synced, in any order. A folder made by MakeFolder is such a name too, and takes what is in it
// along when it is lost; MakeFolders is durable at once. Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "providers/os/clock.h"
#include "providers/os/file_system.h"

namespace podctl::testing {

class FakeFileSystem final : public FileSystem {
 public:
  FakeFileSystem();
  ~FakeFileSystem() override;

  // -- What a test sets up and looks at; durable, never counted, never failing. Relative paths
  // stand in ".", which exists, as do "/" and "/tmp".
  void SetFile(const std::string& path, std::string bytes, unsigned mode = 0600);
  void SetFolder(const std::string& path);  // with its parents
  void SetLink(const std::string& path, const std::string& target);
  void StampWith(Clock& clock) { clock_ = &clock; }  // when files were written; without, at 1970
  // Nothing in it can be made, renamed or removed, until it is not read-only any more.
  void SetReadOnly(const std::string& folder, bool read_only = true);
  std::optional<std::string> FileText(const std::string& path) const;
  std::optional<unsigned> FileMode(const std::string& path) const;
  std::vector<std::string> AllFiles() const;  // paths, sorted

  // -- Faults.
  // The call-th call from now (1 is the next one) fails with `error` and does nothing; with
  // `sticky`, so does every call after it. One plan at a time; call 0 withdraws it.
  void FailCall(int call, Error error, bool sticky = false);
  // From now, only this many more bytes fit: WriteNew and ReplaceLockText write what fits, then
  // fail as ENOSPC does. nullopt: no limit.
  void LimitSpace(std::optional<std::uint64_t> bytes);
  // There are no hard links: Link says so.
  void RefuseLinks() { refuse_links_ = true; }
  // Before the call-th call from now, `other` runs, once: another process, between two system calls
  // of the one under test. It may call this file system.
  void Interleave(int call, std::function<void()> other);
  // Somebody has the file itself locked, as Hold does.
  void HoldFile(const std::string& path);
  void LetGoOfFile(const std::string& path);
  // The lock of `path` is held by "another process", which wrote `text` into it.
  void HoldLock(const std::string& path, const std::string& text);
  // The other process ends: in peace (its lock file is removed) or killed (the text stays).
  void EndHolder(const std::string& path, bool killed);

  // -- Death. Steps are finer than calls: WriteNew takes four (create, half the bytes, all of them,
  // fsync), any other change takes one. After `steps` further steps the machine stands still: calls
  // fail and change nothing until Restart or CutPower.
  void StopAfter(int steps);
  int Steps() const;     // steps taken since the start
  bool Stopped() const;  // StopAfter's moment has come
  void Restart();        // the process died, the machine did not: nothing is lost, locks are free
  enum class TornBytes { kGone, kHalf, kZeroed, kWhole };
  // How many changes of names the disk has not seen yet: a cut has 2^n outcomes.
  std::size_t UnsyncedNames() const;
  // The machine lost power and is back. Of the unsynced changes of names, in their order, the i-th
  // is kept when bit i of `kept_names` is set; files with unsynced bytes come back as `bytes` says.
  void CutPower(std::uint64_t kept_names, TornBytes bytes);

  // Every call so far, for tests on what is not done: "Rename /a/x /a/y".
  std::vector<std::string> Log() const;
  void ClearLog();

  // -- FileSystem.
  Result<std::string> Read(const std::string& path, std::uint64_t max_bytes) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  Result<std::string> FollowLinks(const std::string& path) override;
  Result<void> WriteNew(const std::string& path, std::string_view bytes, unsigned mode) override;
  Result<void> SetMode(const std::string& path, unsigned mode) override;
  void TakeOwner(const std::string&, const std::string&) override {}  // all is one user's
  Result<void> Rename(const std::string& from, const std::string& to) override;
  Result<void> RenameToNew(const std::string& from, const std::string& to) override;
  Result<void> Link(const std::string& from, const std::string& to) override;
  Result<void> SyncFolder(const std::string& folder) override;
  Result<void> Remove(const std::string& path) override;
  Result<void> MakeFolders(const std::string& path) override;
  Result<void> MakeFolder(const std::string& path, unsigned mode) override;
  // It goes by its path all the same: nobody exchanges folders here.
  Result<std::unique_ptr<HeldFolder>> HoldFolder(const std::string& base, const std::string& below,
                                                 bool make) override;
  Result<Locked> TryLock(const std::string& path) override;
  Result<Locked> Hold(const std::string& path, std::uint64_t max_bytes) override;
  Result<void> ReplaceLockText(FileLock& lock, std::string_view text) override;
  Result<void> Unlock(std::unique_ptr<FileLock> lock) override;

 private:
  struct Node {
    std::string bytes;
    std::string on_disk;  // as of the last fsync
    bool synced = true;
    unsigned mode = 0600;
    Clock::SystemTime modified{};
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;  // by normal path
  // One change of names that the disk has not seen: `gone` (may be empty) vanishes, `path` (may be
  // empty) becomes `node`, or a folder when there is no node.
  struct NameChange {
    std::string folder;
    std::string gone;
    std::string path;
    std::shared_ptr<Node> node;
  };
  // Who holds which lock. Shared with the locks handed out, which may outlive the file system.
  struct Holders {
    std::mutex mutex;
    std::map<std::string, std::uint64_t> by_path;
    std::map<const Node*, std::uint64_t> by_node;  // of Hold: the file, whatever it is called
    std::uint64_t last = 0;
  };
  class Lock;
  class NodeHold;
  class Folder;

  void RunInterleaved();                       // without mutex_
  bool IsLink(const std::string& path) const;  // without mutex_

  // All other private functions want mutex_ held.
  std::optional<Error> Begin(const std::string& call);
  bool Step();  // false: the machine stands still
  static std::string Normal(const std::string& path);
  std::string Follow(const std::string& path) const;
  bool FolderExists(const std::string& folder) const;
  std::optional<Error> CheckFolder(const std::string& path) const;
  void Apply(Names& names, std::set<std::string>& folders, const NameChange& change) const;
  void Change(NameChange change);
  Result<std::shared_ptr<Node>> Readable(const std::string& path, std::uint64_t max_bytes) const;
  Result<void> Append(Node& node, std::string_view bytes);
  void FreeAllLocks();

  mutable std::mutex mutex_;
  Names names_;
  Names names_on_disk_;
  std::vector<NameChange> unsynced_;
  std::set<std::string> folders_;
  std::set<std::string> folders_on_disk_;
  std::set<std::string> read_only_;
  std::map<std::string, std::string> links_;
  std::shared_ptr<Holders> holders_;
  std::vector<std::string> log_;
  std::optional<std::uint64_t> space_;
  Clock* clock_ = nullptr;
  bool refuse_links_ = false;
  int interleave_in_ = 0;
  std::function<void()> interleaved_;
  int fail_in_ = 0;
  bool fail_sticky_ = false;
  Error fail_with_;
  int steps_ = 0;
  std::optional<int> stop_in_;
  bool stopped_ = false;
};

}  // namespace podctl::testing
