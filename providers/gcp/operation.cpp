#include "providers/gcp/operation.h"

#include "providers/gcp/api_error.h"

namespace podctl::gcp {
Operation ParseOperation(const Value& json) {
  Operation operation;
  operation.name = json["name"].AsString();
  operation.done = json["done"].AsBool();
  // Of an operation that went well there is no such member, so that any other is a failure, however
  // odd it looks.
  if (const Value* error = json.Find("error"); error != nullptr && !error->is_null()) {
    operation.error.push_back(ErrorFromStatus(*error));
  }
  operation.response = json["response"];
  operation.target = json["metadata"]["target"].AsString();
  operation.verb = json["metadata"]["verb"].AsString();
  operation.create_time = json["metadata"]["createTime"].AsString();
  return operation;
}

}  // namespace podctl::gcp
