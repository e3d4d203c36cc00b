// Where objects of Cloud Storage are, as people write it. Asks nobody, so that a spec is checked
// offline.
#pragma once

#include <string>

#include "providers/base/error.h"

namespace podctl::gcp {

// Where objects are: "gs://BUCKET/PREFIX".
struct StoragePlace {
  std::string bucket;
  std::string prefix;  // without slashes at its ends; may be empty

  std::string Text() const;
};
// kInvalidArgument for what names no bucket, or cannot begin the name of an object.
Result<StoragePlace> ParseStoragePlace(const std::string& url);
// The same of a place that programs and shells are handed: nothing in it needs quotes, or is a
// pattern to gcloud. Errors as above.
Result<StoragePlace> ParsePlainStoragePlace(const std::string& url);

}  // namespace podctl::gcp
