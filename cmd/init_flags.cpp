#include "cmd/init_flags.h"

#include "cmd/flag_kinds.h"

namespace podctl {

void AddInitCommand(CLI::App* app, InitArguments* init) {
  CLI::App* command = AddCommand(app, "init", "write a starter spec");
  command->add_option("--template", init->template_name, "which one (default minimal)")
      ->type_name("NAME");
  command
      ->add_option("--from-command", init->from_command,
                   "from a line of gcloud, xla_dist or caliban; DIR - prints the spec")
      ->type_name("LINE");
  command->add_flag("--legacy-request", init->legacy_request,
                    "print what caliban sent to the service that has ended");
  command->add_option("DIR", init->folder, "folder to write to (default: here)");
  command->add_flag("--list", init->list, "show the templates");
}

std::string InitConflict(const InitArguments& init) {
  if (init.from_command.empty()) {
    if (init.legacy_request) return "`--legacy-request` needs `--from-command`";
    if (init.folder == "-") return "only `--from-command` prints a spec to standard output";
    return {};
  }
  if (init.list) return "`--list` and `--from-command` cannot be used together";
  const bool templated = init.template_name != InitArguments().template_name;
  return templated ? "`--template` and `--from-command` cannot be used together" : "";
}

}  // namespace podctl
