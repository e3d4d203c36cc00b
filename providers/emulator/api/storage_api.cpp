#include "providers/emulator/api/storage_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "providers/base/gzip.h"
#include "providers/base/json.h"
#include "providers/emulator/api/schema.h"
#include "providers/emulator/service/storage_rules.h"

namespace podctl::emulator {
namespace {

constexpr std::size_t kMostUnpacked = std::size_t{512} << 20;
constexpr std::array<std::string_view, 4> kStorageRoots = {"/storage/v1/", "/download/storage/v1/",
                                                           "/upload/storage/v1/",
                                                           "/resumable/upload/storage/v1/"};

// The words of a path: "*" is a name. Uploads alone have a call of their own under their root.
struct StorageRoute {
  std::string_view call;
  std::string_view method;
  std::string_view path;
};
constexpr std::array<StorageRoute, 19> kStorageRoutes = {
    {{"storage.buckets.list", "GET", "b"},
     {"storage.buckets.insert", "POST", "b"},
     {"storage.buckets.get", "GET", "b/*"},
     {"storage.buckets.patch", "PATCH", "b/*"},
     {"storage.buckets.delete", "DELETE", "b/*"},
     {"storage.buckets.testIamPermissions", "GET", "b/*/iam/testPermissions"},
     {"storage.buckets.getStorageLayout", "GET", "b/*/storageLayout"},
     {"storage.managedFolders.list", "GET", "b/*/managedFolders"},
     {"storage.folders.list", "GET", "b/*/folders"},
     {"storage.objects.list", "GET", "b/*/o"},
     {"storage.objects.insert", "POST", "b/*/o"},
     {"storage.objects.get", "GET", "b/*/o/*"},
     {"storage.objects.patch", "PATCH", "b/*/o/*"},
     {"storage.objects.update", "PUT", "b/*/o/*"},
     {"storage.objects.delete", "DELETE", "b/*/o/*"},
     {"storage.objects.compose", "POST", "b/*/o/*/compose"},
     {"storage.objects.rewrite", "POST", "b/*/o/*/rewriteTo/b/*/o/*"},
     {"storage.objects.copy", "POST", "b/*/o/*/copyTo/b/*/o/*"},
     {"storage.objects.move", "POST", "b/*/o/*/moveTo/o/*"}}};

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size() && ReadNumber(text.substr(i + 1, 2), &byte, 16)) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::string_view PathOfTarget(std::string_view target) {
  return target.substr(0, target.find('?'));
}

std::string_view RootOf(std::string_view path) {
  for (const std::string_view root : kStorageRoots) {
    if (path.starts_with(root)) return root;
  }
  return {};
}

// Whether the path has the route's words; what stands for its names goes to `names`.
bool FitsRoute(std::string_view path, std::string_view words, std::vector<std::string>* names) {
  names->clear();
  while (true) {
    const std::string_view part = path.substr(0, path.find('/'));
    const std::string_view word = words.substr(0, words.find('/'));
    if (word == "*" && !part.empty()) {
      names->push_back(Decoded(part));
    } else if (part != word) {
      return false;
    }
    if ((part.size() == path.size()) != (word.size() == words.size())) return false;
    if (part.size() == path.size()) return true;
    path.remove_prefix(part.size() + 1);
    words.remove_prefix(word.size() + 1);
  }
}

std::string_view Given(const HttpRequest& request, std::string_view name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string_view() : found->second;
}

ApiError BadParameter(std::string_view name, std::string_view value) {
  return StorageError(400, "invalidParameter",
                      fmt::format("Invalid value '{}' for query parameter '{}'", value, name));
}

Refusal ReadLong(const HttpRequest& request, const std::string& name,
                 std::optional<std::int64_t>* to) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return std::nullopt;
  std::int64_t number = 0;
  if (!ReadNumber(found->second, &number) || number < 0) return BadParameter(name, found->second);
  *to = number;
  return std::nullopt;
}

// `prefix`: "if" or "ifSource".
Refusal ReadConditions(const HttpRequest& request, const std::string& prefix,
                       StorageConditions* to) {
  Refusal bad = ReadLong(request, prefix + "GenerationMatch", &to->generation);
  if (!bad) bad = ReadLong(request, prefix + "GenerationNotMatch", &to->not_generation);
  if (!bad) bad = ReadLong(request, prefix + "MetagenerationMatch", &to->metageneration);
  if (!bad) bad = ReadLong(request, prefix + "MetagenerationNotMatch", &to->not_metageneration);
  return bad;
}

Refusal ReadWhat(const HttpRequest& request, StorageCall* what) {
  std::optional<std::int64_t> generation;
  std::optional<std::int64_t> source_generation;
  Refusal bad = ReadConditions(request, "if", &what->conditions);
  if (!bad) bad = ReadConditions(request, "ifSource", &what->source_conditions);
  if (!bad) bad = ReadLong(request, "generation", &generation);
  if (!bad) bad = ReadLong(request, "sourceGeneration", &source_generation);
  if (bad) return bad;
  what->generation = generation.value_or(0);
  what->source_generation = source_generation.value_or(0);
  what->project = Given(request, "project");
  what->user_project = Given(request, "userProject");
  const auto header = request.headers.find("x-goog-user-project");
  if (what->user_project.empty() && header != request.headers.end()) {
    what->user_project = header->second;
  }
  what->kms_key = Given(request, "kmsKeyName");
  if (what->kms_key.empty()) what->kms_key = Given(request, "destinationKmsKeyName");
  return std::nullopt;
}

Refusal ReadListing(const HttpRequest& request, StorageListing* to) {
  to->prefix = Given(request, "prefix");
  to->delimiter = Given(request, "delimiter");
  to->start = Given(request, "startOffset");
  to->end = Given(request, "endOffset");
  to->versions = Given(request, "versions") == "true" || Given(request, "versions") == "True";
  to->trailing_delimiter = LowerCase(Given(request, "includeTrailingDelimiter")) == "true";
  for (const char* absent : {"matchGlob", "softDeleted"}) {
    if (Given(request, absent).empty() || LowerCase(Given(request, absent)) == "false") continue;
    return StorageErrorOf(501, fmt::format("The emulator does not know {}.", absent));
  }
  const std::string_view size = Given(request, "maxResults");
  if (!size.empty() && (!ReadNumber(size, &to->page.size) || to->page.size <= 0)) {
    return BadParameter("maxResults", size);
  }
  const std::string_view token = Given(request, "pageToken");
  if (token.empty()) return std::nullopt;
  auto after = ReadPageToken(token);
  if (!after) return BadParameter("pageToken", token);
  to->page.after = *std::move(after);
  return std::nullopt;
}

// All of them are granted: nobody is denied but by a fault.
Value GrantedPermissions(std::string_view target) {
  constexpr std::string_view kName = "permissions=";
  Value::List granted;
  std::string_view query = target.substr(std::min(target.find('?'), target.size()));
  while (!query.empty()) {
    query.remove_prefix(1);
    const std::string_view entry = query.substr(0, query.find('&'));
    if (entry.starts_with(kName)) granted.emplace_back(Decoded(entry.substr(kName.size())));
    query.remove_prefix(entry.size());
  }
  return Value::Map{{"kind", "storage#testIamPermissionsResponse"}, {"permissions", granted}};
}

Value LayoutOf(const Value& bucket) {
  return Value::Map{{"kind", "storage#storageLayout"},
                    {"bucket", bucket["name"]},
                    {"location", bucket["location"]},
                    {"locationType", bucket["locationType"]},
                    {"hierarchicalNamespace", Value::Map{{"enabled", false}}}};
}

// Links lead to where the request was sent: Google's client of Python follows them.
void AimLinks(const HttpRequest& request, Value* value) {
  constexpr std::string_view kGoogle = "https://www.googleapis.com";
  for (const char* name : {"selfLink", "mediaLink"}) {
    const std::string& link = (*value)[name].AsString();
    if (!link.starts_with(kGoogle)) continue;
    value->Set(name,
               "http://" + request.headers.find("host")->second + link.substr(kGoogle.size()));
  }
  if (value->Find("resource") != nullptr) AimLinks(request, &value->MutableMap()["resource"]);
  if (value->Find("items") == nullptr) return;
  for (Value& item : value->MutableMap()["items"].MutableList()) AimLinks(request, &item);
}

// Google unpacks what is stored as gzip for who does not take that.
bool IsToUnpack(const HttpRequest& request, std::string_view encoding) {
  const auto takes = request.headers.find("accept-encoding");
  return encoding == "gzip" &&
         (takes == request.headers.end() || takes->second.find("gzip") == std::string::npos);
}

void ShowObject(const HttpRequest& request, const StoredObject& object, HttpReply* reply) {
  const Value& resource = object.resource;
  const std::string& type = resource["contentType"].AsString();
  const std::string& encoding = resource["contentEncoding"].AsString();
  std::string sums = "crc32c=" + resource["crc32c"].AsString();
  if (const Value* md5 = resource.Find("md5Hash")) sums += ",md5=" + md5->AsString();
  reply->body = *object.bytes;
  reply->is_media = true;
  reply->content_type = type.empty() ? "application/octet-stream" : type;
  reply->headers = {{"X-Goog-Generation", std::to_string(object.generation())},
                    {"X-Goog-Metageneration", std::to_string(object.metageneration())},
                    {"X-Goog-Hash", sums},
                    {"X-Goog-Storage-Class", resource["storageClass"].AsString()},
                    {"X-Goog-Stored-Content-Encoding", encoding.empty() ? "identity" : encoding},
                    {"X-Goog-Stored-Content-Length", std::to_string(object.bytes->size())},
                    {"ETag", resource["etag"].AsString()},
                    // A page that somebody stored has no part in the emulator's origin.
                    {"Content-Security-Policy", "sandbox; default-src 'none'"}};
  if (!IsToUnpack(request, encoding)) {
    if (!encoding.empty()) reply->headers.emplace_back("Content-Encoding", encoding);
    return;
  }
  // What is no gzip is handed out as it is.
  if (auto text = Gunzip(*object.bytes, kMostUnpacked)) reply->body = *std::move(text);
}

// Where bytes are asked for, the error is a text.
void ShowMediaError(const ApiError& error, HttpReply* reply) {
  reply->status = error.HttpStatus();
  reply->content_type = "text/html; charset=UTF-8";
  reply->body = reply->status == 304 ? "" : error.message;
}

}  // namespace

bool IsStorageCallName(std::string_view name) {
  return std::any_of(kStorageRoutes.begin(), kStorageRoutes.end(),
                     [&](const StorageRoute& route) { return route.call == name; });
}

void ShowNothing(int status, HttpReply* reply) {
  reply->status = status;
  reply->body.clear();
  reply->content_type = "text/html; charset=UTF-8";
}

void ShowStorageError(const ApiError& error, HttpReply* reply) {
  if (error.HttpStatus() == 304) return ShowNothing(304, reply);
  reply->status = error.HttpStatus();
  reply->body = ToJson(error.HttpBody());
}

bool StorageApi::Serves(std::string_view path) {
  return !RootOf(path).empty();
}

std::optional<HttpRequest> StorageApi::AsJsonApi(const HttpRequest& request) {
  const std::string_view path = PathOfTarget(request.target);
  const auto slash = path.find('/', 1);
  if (request.method != "GET" || slash == std::string_view::npos) return std::nullopt;
  StorageCall bucket;
  bucket.bucket = Decoded(path.substr(1, slash - 1));
  {
    const auto lock = service_->Lock();
    const emulator::Answer found = service_->storage.GetBucket(bucket);
    if (!std::holds_alternative<Value>(found)) return std::nullopt;
  }
  HttpRequest json = request;
  json.target = fmt::format("/storage/v1/b/{}/o/", bucket.bucket);
  for (const char c : Decoded(path.substr(slash + 1))) {
    json.target += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  json.path = fmt::format("/storage/v1/b/{}/o/{}", bucket.bucket, path.substr(slash + 1));
  json.query["alt"] = "media";
  for (const auto& [header, parameter] :
       {std::pair("x-goog-if-generation-match", "ifGenerationMatch"),
        std::pair("x-goog-if-metageneration-match", "ifMetagenerationMatch")}) {
    const auto said = request.headers.find(header);
    if (said != request.headers.end()) json.query[parameter] = said->second;
  }
  return json;
}

StorageRequest StorageApi::Read(const HttpRequest& request) {
  StorageRequest read;
  read.shown.method = request.method;
  read.shown.path = request.path;
  read.shown.query = request.query;
  const std::string_view path = PathOfTarget(request.target);
  const std::string_view root = RootOf(path);
  const bool uploads = root.find("upload") != std::string_view::npos;
  std::vector<std::string> names;
  // Bytes of an upload that goes on, and its end, have the call of its beginning.
  const bool goes_on = uploads && !Given(request, "upload_id").empty();
  const std::string_view method = goes_on ? std::string_view("POST") : request.method;
  for (const StorageRoute& route : kStorageRoutes) {
    if (route.method == method && FitsRoute(path.substr(root.size()), route.path, &names) &&
        (!uploads || route.call == "storage.objects.insert")) {
      read.call = route.call;
      break;
    }
  }
  if (read.call == "unknown") {
    read.refusal = StorageErrorOf(404, "Not Found");
    return read;
  }
  if (!names.empty()) read.what.bucket = names[0];
  if (names.size() > 1) read.what.object = names[1];
  if (names.size() > 2) {
    read.what.source_bucket = names[0];
    read.what.source_object = names[1];
    read.what.object = names.back();
    if (names.size() > 3) read.what.bucket = names[2];
  }
  read.refusal = ReadWhat(request, &read.what);
  if (read.refusal) return read;
  if (uploads) {
    ReadUpload(request, &read);
  } else if (request.method != "GET" && request.method != "DELETE") {
    Result<Value> json = ParseLenientJson(request.body);
    if (!json || !json->is_map()) {
      read.refusal = StorageError(400, "parseError", "Parse Error");
    } else {
      read.what.body = *std::move(json);
    }
    if (read.call == "storage.objects.insert") {
      read.refusal = StorageInvalid(
          "Upload requests must include an uploadType URL parameter and "
          "a URL path beginning with /upload/");
    }
  }
  if (read.call == "storage.objects.insert" && !read.what.object.empty()) {
    read.shown.path =
        fmt::format("/upload/storage/v1/b/{}/o/{}", read.what.bucket, read.what.object);
  }
  return read;
}

Answer StorageApi::Do(const HttpRequest& request, const StorageRequest& read) {
  using enum Storage::Copying;
  const std::string_view call = std::string_view(read.call).substr(read.call.find('.') + 1);
  StorageListing listing;
  if (call.ends_with(".list")) {
    if (auto bad = ReadListing(request, &listing)) return *std::move(bad);
  }
  const auto lock = service_->Lock();
  Storage& storage = service_->storage;
  const StorageCall& what = read.what;
  if (call == "buckets.list") return storage.ListBuckets(what, listing);
  if (call == "buckets.insert") return storage.InsertBucket(what);
  if (call == "buckets.patch") return storage.PatchBucket(what);
  if (call == "buckets.delete") return storage.DeleteBucket(what);
  if (call == "objects.list") return storage.List(what, listing);
  if (call == "objects.insert") return storage.Insert(what, read.bytes);
  if (call == "objects.patch") return storage.Patch(what, false);
  if (call == "objects.update") return storage.Patch(what, true);
  if (call == "objects.delete") return storage.Delete(what);
  if (call == "objects.compose") return storage.Compose(what);
  if (call == "objects.rewrite") return storage.Copy(what, kRewrite);
  if (call == "objects.copy") return storage.Copy(what, kCopy);
  if (call == "objects.move") {
    StorageCall move = what;
    move.bucket = what.source_bucket;
    return storage.Copy(move, kMove);
  }
  emulator::Answer bucket = storage.GetBucket(what);
  const Value* found = std::get_if<Value>(&bucket);
  if (found == nullptr || call == "buckets.get") return bucket;
  if (call == "buckets.testIamPermissions") return GrantedPermissions(request.target);
  if (call == "buckets.getStorageLayout") return LayoutOf(*found);
  return Value::EmptyMap();  // folders of either kind there are none
}

HttpReply StorageApi::Answer(const HttpRequest& request, const StorageRequest& read) {
  HttpReply reply;
  if (read.refusal) {
    ShowStorageError(*read.refusal, &reply);
    return reply;
  }
  if (read.upload_type == "resumable") return Upload(request, read);
  emulator::Answer answer;
  if (read.call == "storage.objects.get") {
    const auto lock = service_->Lock();
    FoundObject found = service_->storage.Get(read.what);
    const auto* object = std::get_if<StoredObject>(&found);
    if (object != nullptr && Given(request, "alt") == "media") {
      ShowObject(request, *object, &reply);
      return reply;
    }
    if (object == nullptr) {
      answer = std::get<ApiError>(std::move(found));
      if (Given(request, "alt") == "media") {
        ShowMediaError(std::get<ApiError>(answer), &reply);
        return reply;
      }
    } else {
      answer = object->resource;
    }
  } else {
    answer = Do(request, read);
  }
  if (const auto* error = std::get_if<ApiError>(&answer)) {
    ShowStorageError(*error, &reply);
    return reply;
  }
  Show(request, std::get<Value>(std::move(answer)), &reply);
  return reply;
}

void StorageApi::Show(const HttpRequest& request, Value value, HttpReply* reply) {
  if (value.is_null()) return ShowNothing(204, reply);
  if (request.headers.contains("host")) AimLinks(request, &value);
  const std::string_view fields = Given(request, "fields");
  const std::optional<Value> selected = fields.empty() ? value : SelectFields(value, fields);
  if (selected) {
    reply->body = ToJson(*selected);
    return;
  }
  ShowStorageError(
      StorageError(400, "invalidParameter", fmt::format("Invalid field selection {}", fields)),
      reply);
}

}  // namespace podctl::emulator
