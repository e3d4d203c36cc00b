// The hidden `podctl __pages DIR DATE`, by which an installation and the packages get the manual
// for man(1).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/manual.h"
#include "cmd/wiring.h"
#include "plans/spec/schema.h"
#include "providers/os/file_system.h"

namespace podctl {
namespace {

struct PagesOptions {
  std::string folder;
  std::string date;
};

// A page's own line of date holds nothing else.
std::string ReadPageDate(const Flag&, const std::string& text, std::string* target) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  const bool fits =
      text.size() == kForm.size() &&
      std::equal(text.begin(), text.end(), kForm.begin(), [](char c, char form) {
        return form == 'd' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == form;
      });
  if (!fits) return fmt::format("`{}` is not a date such as 2026-01-31", text);
  *target = text;
  return {};
}

// Fails where one of the pages is there already.
Result<void> WritePages(const PagesOptions& options, const Shape& spec, FileSystem& files) {
  constexpr unsigned kReadableByAll = 0644;
  if (auto made = files.MakeFolders(options.folder); !made) return made;
  for (const ManualPage& page : ManualPages(options.date, spec)) {
    const std::string path = options.folder + "/" + page.FileName();
    if (auto written = files.WriteNew(path, page.text, kReadableByAll); !written) return written;
  }
  return {};
}

int RunPages(Wiring& wiring, const PagesOptions& options) {
  const auto written = WritePages(options, SpecShape(wiring.kinds().all), wiring.files());
  return written ? 0 : wiring.reporter().ShowFailure(written.error());
}

constexpr Flag kPagesFlags[] = {
    Required(OneValue<&PagesOptions::folder>("DIR", "", "where the pages go")),
    Required(
        OneValue<&PagesOptions::date, PagesOptions, &ReadPageDate>("DATE", "", "that they tell")),
};

}  // namespace

const Command commands::kPages("__pages", "write the pages of the manual", kPagesFlags,
                               WithWorld<RunPages>, nullptr, NoState);

}  // namespace podctl
