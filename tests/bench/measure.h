// Times whole commands: wall, CPU and peak memory of the process and its children, as the kernel
// counts them (getrusage(2) via wait4). Several runs; the median with its extremes is told.
#pragma once

#include <string>
#include <vector>

namespace podctl::bench {

struct Sample {
  double wall_seconds = 0;
  double cpu_seconds = 0;         // user and system
  double peak_mib = 0;            // of the largest process
  double written_mib = 0;         // to the disk, as far as the file system counts it
  double server_cpu_seconds = 0;  // of the server it talked to, where there is one
};

struct Series {
  std::string name;
  std::vector<Sample> samples;
  double Median(double Sample::*field) const;
  double Least(double Sample::*field) const;
  double Most(double Sample::*field) const;
};

// Runs `words` in `folder` with its output thrown away. A non-zero exit ends the program with what
// it said on stderr: a figure of a command that failed is worth nothing.
Sample Run(const std::vector<std::string>& words, const std::string& folder);

// Whether a program of this name is in PATH.
bool HasProgram(const std::string& name);

// A table with one line for each series that has samples, and its ratios to the first one.
// `objects`: how many each run dealt with, for the CPU of one; 0: that means nothing here.
void Print(const std::string& title, int objects, const std::vector<Series>& series);

// Interleaves the runs of all commands, so that the machine's mood hits each alike.
std::vector<Series> Compare(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& commands,
    const std::string& folder, int runs);

}  // namespace podctl::bench
