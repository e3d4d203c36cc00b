// What the metadata of pods takes from Secret Manager: read when a plan is made, since a new
// version of a secret is a change, and when a saved one is applied, which holds no value. It stays
// in memory, as every sensitive value of a spec does.
#pragma once

#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/kinds/pod/spec.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/secrets.h"

namespace podctl {

// By the names under which they were asked for.
using SecretTexts = std::map<std::string, Result<SecretValue>>;

// Each is asked for once, some side by side. kInvalidArgument where what is read is no text.
SecretTexts ReadSecrets(Secrets& secrets, const std::set<std::string>& names, int parallelism,
                        const std::stop_token& stop);

// The names that pods of a spec have.
std::set<std::string> SecretsOf(const Spec& spec);
// Gives each pod what it takes, and the names with the numbers of the versions. What could not be
// read is told at its place.
Diagnostics FillSecrets(const SecretTexts& texts, Spec* spec);

// Of what the spec holds that is sensitive, no error of a service is to say anything from now on
// (providers/base/redactor.h).
void HideSensitive(const Spec& spec);

// As template text (references.h). Hidden from then on, too.
void FillSecret(const SecretValue& value, MetadataEntry* entry);

}  // namespace podctl
