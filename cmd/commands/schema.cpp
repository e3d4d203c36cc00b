#include "plans/spec/schema.h"

#include "cmd/command.h"
#include "plans/kinds/kinds.h"
#include "providers/os/file_system.h"

namespace podctl {
namespace {

// With or without --json: it is one document for programs.
int RunSchema(Context& context, const NoOptions&) {
  RealFileSystem files;
  const BuiltInKinds kinds({files});
  context.streams().out << SpecSchemaText(kinds.known().all);
  return 0;
}

}  // namespace

const Command commands::kSchema("schema", "print the JSON Schema of a spec, for editors", {},
                                RunSchema, nullptr, NoState);

}  // namespace podctl
