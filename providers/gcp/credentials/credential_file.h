// Credential files: the JSON that gcloud, the console and CI systems write, and the source of
// tokens that each `type` stands for.
//
// Nothing is asked of anybody while a file is read. Errors name the file and the field, never a
// value.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "providers/base/value.h"
#include "providers/gcp/credentials/token_source.h"

namespace podctl::gcp {

// The fields of one object of a file, with words for what is wrong with them.
class Fields {
 public:
  // `where` begins the messages: the file's path, and which object in it.
  Fields(const Value& object, std::string where) : object_(object), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  const Value& operator[](std::string_view name) const { return object_[name]; }
  std::string Named(std::string_view name) const;  // "FILE: `name`", for messages

  // A text that must be there. kUnauthenticated when it is missing, empty or no text.
  Result<std::string> Text(std::string_view name) const;
  // One that need not be there: then `fallback`.
  std::string TextOr(std::string_view name, const std::string& fallback = {}) const;
  Error Wrong(std::string_view name, std::string_view what) const;

 private:
  Value object_;
  std::string where_;
};

// What the tokens are for.
enum class TokenUse {
  kTpuApi,     // where it is allowed, a token that only the Cloud TPU API takes
  kAnyGoogle,  // one that Google's other APIs take too
};

// kUnauthenticated for a type that is not known, or when a field is missing. `depth` counts the
// files within files (impersonated_service_account).
Result<std::unique_ptr<TokenSource>> MakeTokenSource(const CredentialDoors& doors,
                                                     const Fields& fields, TokenUse use,
                                                     int depth = 0);

// Reads `path` and makes its source.
Result<std::unique_ptr<TokenSource>> ReadCredentialFile(const CredentialDoors& doors,
                                                        const std::string& path);

}  // namespace podctl::gcp
