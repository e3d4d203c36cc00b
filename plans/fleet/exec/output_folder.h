// --output-dir: the outputs of the workers as files, and results.json beside them.
//
//   research-3.out, research-3.err    what worker 3 wrote, byte by byte; made when its command ran
//   results.json                      what came of it (record.h), whole at any moment, also after
//                                     a power cut
//
// results.json is there from the beginning, says what is known so far, and is what --retry-failed
// reads: a run that was killed left it behind too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plans/fleet/exec/output_sink.h"
#include "plans/fleet/exec/record.h"
#include "providers/os/file_system.h"

namespace podctl {

class OutputFolder final : public OutputSink {
 public:
  enum class Found { kRefuse, kReplace };  // what to do about results that are there already

  // Makes the folder. kAlreadyExists for one that holds anything, unless it is to be replaced: then
  // the files of these jobs and results.json are, and others stay. `jobs` and `files` are lent.
  static Result<std::unique_ptr<OutputFolder>> Open(const std::vector<ssh::Job>& jobs,
                                                    FileSystem& files, const std::string& path,
                                                    Found found);

  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override;
  void OnEnd(std::size_t job, const ssh::WorkerResult& result) override;
  std::optional<Error> trouble() const override { return trouble_; }

  // Names the files of a worker in its entry; empty where the command never ran.
  void Name(std::size_t job, WorkerEntry& entry) const;
  // Replaces results.json.
  void Save(const ExecRecord& record);

  static std::string RecordPath(const std::string& folder) { return folder + "/results.json"; }

 private:
  struct File {
    std::string name;
    std::string pending;  // not written yet
    bool made = false;
  };
  struct Worker {
    File out;
    File err;
  };

  OutputFolder(const std::vector<ssh::Job>& jobs, FileSystem& files, std::string path);
  void Write(File& file);
  void WriteAll();
  void Fail(const Error& error);

  FileSystem& files_;  // of results.json
  const std::string path_;
  std::vector<Worker> workers_;
  std::size_t pending_ = 0;  // bytes, of all files
  std::optional<Error> trouble_;
};

}  // namespace podctl
