#include "providers/gcp/operation.h"

#include "providers/gcp/api_error.h"

namespace podctl::gcp {
Operation ParseOperation(const Value& json) {
  Operation operation;
  operation.name = json["name"].AsString();
  operation.done = json["done"].AsBool();
  if (const Value* error = json.Find("error"); error != nullptr && error->is_map()) {
    operation.error.push_back(ErrorFromStatus(*error));
  }
  operation.response = json["response"];
  operation.target = json["metadata"]["target"].AsString();
  operation.verb = json["metadata"]["verb"].AsString();
  operation.create_time = json["metadata"]["createTime"].AsString();
  return operation;
}

}  // namespace podctl::gcp
