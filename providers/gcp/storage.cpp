#include "providers/gcp/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/encoding.h"
#include "providers/base/gzip.h"
#include "providers/base/json.h"
#include "providers/base/redactor.h"
#include "providers/base/text.h"
#include "providers/gcp/api_error.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

constexpr const char* kGoogleStorage = "https://storage.googleapis.com/";
constexpr std::string_view kStorageApi = "storage/v1/";
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kMostPages = 10'000;  // of a thousand objects each
constexpr int kMostLooks = 3;               // at an object that comes and goes
constexpr std::size_t kQuoted = 200;        // of what a server says
constexpr std::size_t kWorthGzip = 2048;    // bytes

http::RetryPolicy Once() {
  http::RetryPolicy policy;
  policy.attempts = 1;
  policy.refusals = 1;
  return policy;
}

// A decimal number that a 64-bit integer holds; "0" is no generation.
bool IsGeneration(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() && number > 0 &&
         text.front() != '0';
}

// Four bytes, the highest first.
std::string SumText(std::string_view bytes) {
  const std::uint32_t sum = Crc32c(bytes);
  std::string big;
  for (unsigned shift : {24U, 16U, 8U, 0U}) big += static_cast<char>((sum >> shift) & 0xFFU);
  return Base64Encode(big);
}

Error OddStorage(const std::string& what) {
  return MakeError(ErrorCode::kDataLoss, "Cloud Storage's answer " + what,
                   "is the endpoint really Cloud Storage?");
}

// In words, of an error that is JSON or a text.
std::string SaidBy(const http::Response& response) {
  const Result<Value> json = ParseJson(response.body);
  const std::string text = json ? (*json)["error"]["message"].AsString() : response.body;
  return VisibleControls(std::string(TrimBlanks(std::string_view(text).substr(0, kQuoted))));
}

bool IsNoObject(const http::Response& response) {
  return response.status == 404 && SaidBy(response).starts_with("No such object");
}

bool IsNoBucket(const http::Response& response) {
  return response.status == 404 &&
         SaidBy(response).find("bucket does not exist") != std::string::npos;
}

// A 404 that is not in Google's words: whoever says so, and of what, a list of such names tells.
bool IsUnclear(const http::Response& response) {
  return response.status == 404 && !IsNoObject(response) && !IsNoBucket(response);
}

// What kind of error it is, in a word of Google's.
std::string ReasonOf(const http::Response& response) {
  const Result<Value> json = ParseJson(response.body);
  const Value::List* errors = json ? &(*json)["error"]["errors"].AsList() : nullptr;
  return errors == nullptr || errors->empty() ? "" : (*errors)[0]["reason"].AsString();
}

// The API's own 404, and not of the bucket.
bool IsGone(const http::Response& response) {
  const Result<Value> json = ParseJson(response.body);
  return response.status == 404 && json && (*json)["error"].is_map() && !IsNoBucket(response);
}

std::string RoleHint(const std::string& bucket) {
  return fmt::format(
      "whoever applies needs roles/storage.objectUser on the bucket, whoever only plans "
      "roles/storage.objectViewer: `gcloud storage buckets add-iam-policy-binding gs://{} "
      "--member=user:YOU@example.com --role=roles/storage.objectUser`",
      bucket);
}

std::string StorageHint(const http::Response& response, const std::string& bucket) {
  if (IsNoBucket(response)) {
    return fmt::format(
        "make it: `podctl state init --location REGION`, or `gcloud storage buckets create "
        "gs://{0} "
        "--location=REGION --uniform-bucket-level-access` and `gcloud storage buckets update "
        "gs://{0} --versioning`",
        bucket);
  }
  if (ReasonOf(response) == "retentionPolicyNotMet") {
    return "the bucket's retention policy keeps it for some time; what podctl writes over or "
           "removes "
           "needs a bucket without one";
  }
  if (ReasonOf(response) == "objectUnderActiveHold") {
    return "a hold keeps it; what podctl writes over or removes needs a bucket that puts none on "
           "new objects";
  }
  if (response.status == 403) return RoleHint(bucket);
  if (response.status == 400 && SaidBy(response).find("requester pays") != std::string::npos) {
    return "name the project that pays for the requests";
  }
  if (response.status == 401) {
    return "log in with `gcloud auth application-default login`, or give a fresh token";
  }
  return response.status == 404 ? "is the endpoint really Cloud Storage?" : "";
}

// For what reads.
Error StorageErrorFrom(const http::Response& response, const std::string& bucket) {
  http::Response shown = response;
  shown.body = RedactedError(response.body);
  Error error = ErrorFromAnswer(shown.status, shown.body, "Cloud Storage");
  if (const std::string said = SaidBy(shown); !said.empty() && !ParseJson(shown.body)) {
    error.message =
        fmt::format("Cloud Storage answered with HTTP status {}: {}", response.status, said);
  }
  if (response.status == 404) error.code = ErrorCode::kNotFound;
  if (response.status == 409) error.code = ErrorCode::kAlreadyExists;
  if (response.status == 429) error.code = ErrorCode::kUnavailable;
  const bool passes = response.status == 408 || response.status == 429 || response.status >= 500;
  const std::string status = fmt::format("HTTP status {}", response.status);
  const bool says_so = error.message.find(status) != std::string::npos;
  error.message = fmt::format("gs://{}: {}{}", bucket, error.message,
                              passes && !says_so ? fmt::format(" ({})", status) : "");
  error.hint = StorageHint(response, bucket);
  return error;
}

// Whether the status says that nothing was written. Whoever on the way sent a 5xx, the request may
// have gone on.
bool SaysNotDone(int status) {
  return status >= 400 && status != 408 && (status < 500 || status == 501);
}

Error WriteErrorFrom(const Call& call, const http::Response& response, const std::string& bucket) {
  Error error = StorageErrorFrom(response, bucket);
  const bool is_gone = call.method == "DELETE" && IsGone(response);
  if (response.status == 412 || response.status == 304 || is_gone) {
    error.code = ErrorCode::kFailedPrecondition;
  } else if (!SaysNotDone(response.status)) {
    error.code = ErrorCode::kReplyLost;
  } else if (response.status == 403 && call.method == "DELETE" &&
             ReasonOf(response) != "retentionPolicyNotMet" &&
             ReasonOf(response) != "objectUnderActiveHold") {
    error.hint = "to remove an object takes storage.objects.delete; " + error.hint;
  } else if (error.code == ErrorCode::kFailedPrecondition || error.code == ErrorCode::kReplyLost) {
    error.code = ErrorCode::kInvalidArgument;  // these two have a meaning of their own here
  }
  return error;
}

Error DamagedObject(const std::string& bucket, const std::string& name, std::string_view why) {
  return MakeError(ErrorCode::kDataLoss,
                   fmt::format("gs://{}/{} is damaged: {}", bucket, VisibleControls(name), why),
                   "bring an earlier version of it back: `gcloud storage ls -a` lists them");
}

// Of `x-goog-hash`, which may come once or once for each sum: the CRC32C.
std::string SumOf(const http::Response& response) {
  constexpr std::string_view kSum = "crc32c=";
  for (const auto& [name, value] : response.headers) {
    if (name != "x-goog-hash") continue;
    for (const std::string_view part : Split(value, ",")) {
      const std::string_view sum = TrimBlanks(part);
      if (sum.starts_with(kSum)) return std::string(sum.substr(kSum.size()));
    }
  }
  return {};
}

// Adds a page; the names must go on from what is there. Returns the next page's token.
Result<std::string> AddPage(const http::Response& response, const std::string& prefix,
                            const std::string& start, std::vector<StorageObject>* objects) {
  const Result<Value> page = ParseJson(response.body, response.body.capacity());
  if (!page || !page->is_map()) return OddStorage("to a list is not a JSON object");
  for (const Value& item : (*page)["items"].AsList()) {
    StorageObject object{item["name"].AsString(), item["generation"].AsString(), 0, {}};
    const std::int64_t bytes = item["size"].AsInt(-1);
    const bool ordered = objects->empty() || objects->back().name < object.name;
    if (!ordered || !object.name.starts_with(prefix) || object.name < start || bytes < 0 ||
        !IsGeneration(object.generation)) {
      return OddStorage("to a list is not one of what was asked for, in order");
    }
    object.bytes = static_cast<std::uint64_t>(bytes);
    object.created = ParseTimestamp(item["timeCreated"].AsString());
    objects->push_back(std::move(object));
  }
  return (*page)["nextPageToken"].AsString();
}

bool IsGzip(const http::Response& response, std::string_view header) {
  const std::string* encoding = response.Header(header);
  return encoding != nullptr && *encoding == "gzip";
}

// Of an object's content, as it came: leaves its text in the answer's body.
Result<void> CheckAndUnpack(const std::string& bucket, const std::string& name,
                            http::Response* response) {
  const bool stored_as_gzip = IsGzip(*response, "x-goog-stored-content-encoding");
  const bool came_as_gzip = IsGzip(*response, "content-encoding");
  std::optional<Result<std::string>> text;
  if (came_as_gzip) text = Gunzip(response->body, StorageClient::kLargestObject);
  // The checksum is of the stored bytes. What was stored as gzip and comes as text has been checked
  // by the checksum that gzip has.
  const bool is_checked = came_as_gzip || !stored_as_gzip;
  const bool of_text = came_as_gzip && !stored_as_gzip && *text;
  if (is_checked && SumOf(*response) != SumText(of_text ? **text : response->body)) {
    return MakeError(
        ErrorCode::kDataLoss,
        fmt::format("gs://{}/{} was damaged on its way: its checksum (CRC32C) does not fit", bucket,
                    VisibleControls(name)),
        "try again");
  }
  if (!text) return {};
  if (!*text) return DamagedObject(bucket, name, text->error().message);
  response->body = **std::move(text);
  return {};
}

}  // namespace

Result<Endpoint> FindStorageEndpoint(const Environment& environment) {
  for (const char* name : {"STORAGE_EMULATOR_HOST", "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"}) {
    std::string text = environment.Get(name).value_or("");
    if (text.empty()) continue;
    if (text.find("://") == std::string::npos) text = "http://" + text;
    auto endpoint = ParseEndpoint(text);
    if (!endpoint) {
      Error error = endpoint.error();
      error.message = fmt::format("{}: {}", name, error.message);
      error.hint = fmt::format("for example {}", kGoogleStorage);
      return error;
    }
    if (std::string& url = endpoint->base_url; url.ends_with(fmt::format("/{}", kStorageApi))) {
      url.resize(url.size() - kStorageApi.size());
    }
    return endpoint;
  }
  return Endpoint{kGoogleStorage};
}

StorageClient::StorageClient(Endpoint endpoint, http::Transport& transport,
                             Credentials& credentials, Clock& clock, Random& random,
                             StorageSettings settings, http::RetryPolicy reads)
    : reads_(endpoint, transport, credentials, clock, random, std::move(reads)),
      writes_(std::move(endpoint), transport, credentials, clock, random, Once()),
      random_(random),
      settings_(std::move(settings)) {}

Call StorageClient::ObjectCall(std::string method, const std::string& bucket,
                               const std::string& name) const {
  Call call;
  call.method = std::move(method);
  call.path = fmt::format("{}b/{}/o", kStorageApi, http::PercentEncode(bucket));
  if (!name.empty()) call.path += "/" + http::PercentEncode(name);
  if (!settings_.user_project.empty())
    call.query.emplace_back("userProject", settings_.user_project);
  return call;
}

Result<http::Response> StorageClient::Write(const Call& call, const std::string& bucket,
                                            const std::stop_token& stop) {
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped before sending");
  Result<http::Response> response = writes_.Exchange(call, std::move(stop));
  if (!response) {
    Error error = response.error();
    // It may have been on its way.
    if (error.code == ErrorCode::kCancelled) error.code = ErrorCode::kReplyLost;
    return error;
  }
  if (response->status == 200 || response->status == 204) return response;
  return WriteErrorFrom(call, *response, bucket);
}

Result<std::optional<StorageContent>> StorageClient::Get(const std::string& bucket,
                                                         const std::string& name,
                                                         const std::stop_token& stop) {
  Call call = ObjectCall("GET", bucket, name);
  call.alt = "media";
  Result<http::Response> response = reads_.Exchange(call, stop);
  for (int round = 0; round < kMostLooks && response && IsUnclear(*response); ++round) {
    auto listed = List(bucket, name, "", stop);
    if (!listed) return listed.error();
    const bool is_there = !listed->empty() && listed->front().name == name;
    if (!is_there) return std::optional<StorageContent>();
    response = reads_.Exchange(call, stop);  // made between the two questions
  }
  if (!response && response.error().code == ErrorCode::kDataLoss) {
    return DamagedObject(bucket, name, response.error().message);
  }
  if (!response) return response.error();
  if (IsNoObject(*response)) return std::optional<StorageContent>();
  if (response->status != 200) return StorageErrorFrom(*response, bucket);
  const std::string* generation = response->Header("x-goog-generation");
  if (generation == nullptr || !IsGeneration(*generation)) {
    return OddStorage("does not name the object's generation");
  }
  if (Result<void> whole = CheckAndUnpack(bucket, name, &*response); !whole) return whole.error();
  return std::make_optional(StorageContent{std::move(response->body), *generation});
}

Result<std::vector<StorageObject>> StorageClient::List(const std::string& bucket,
                                                       const std::string& prefix,
                                                       const std::string& start,
                                                       const std::stop_token& stop) {
  std::vector<StorageObject> objects;
  std::string token;
  for (std::size_t pages = 0; pages < kMostPages; ++pages) {
    Call call = ObjectCall("GET", bucket, "");
    call.query.emplace_back("prefix", prefix);
    if (!start.empty()) call.query.emplace_back("startOffset", start);
    call.query.emplace_back("maxResults", "1000");
    call.query.emplace_back("fields", "items(name,generation,size,timeCreated),nextPageToken");
    if (!token.empty()) call.query.emplace_back("pageToken", token);
    Result<http::Response> response = reads_.Exchange(call, stop);
    if (!response) return response.error();
    if (response->status != 200) return StorageErrorFrom(*response, bucket);
    Result<std::string> next = AddPage(*response, prefix, start, &objects);
    if (!next) return next.error();
    if (next->empty()) return objects;
    if (*next == token) break;
    token = *std::move(next);
  }
  return OddStorage("to a list has no end");
}

Result<std::string> StorageClient::Insert(const std::string& bucket, const std::string& name,
                                          const std::string& bytes,
                                          const std::string& if_generation,
                                          const std::stop_token& stop, bool* kept) {
  if (bytes.size() > kLargestObject || name.empty() || name.size() > kLongestName ||
      (if_generation != "0" && !IsGeneration(if_generation))) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("gs://{}/{} cannot be written: {} bytes, generation {}", bucket,
                                 VisibleControls(name.substr(0, kQuoted)), bytes.size(),
                                 VisibleControls(if_generation)));
  }
  const bool zips = bytes.size() >= kWorthGzip;
  const std::string stored = zips ? Gzip(bytes) : bytes;
  const std::string sum = SumText(stored);
  std::string mark = random_.Uuid();
  while (stored.find(mark) != std::string::npos) mark = random_.Uuid();
  Value::Map about{{"name", name}, {"contentType", "application/json"}, {"crc32c", sum}};
  if (zips) about["contentEncoding"] = "gzip";
  const std::string metadata = ToJson(about);
  Call call = ObjectCall("POST", bucket, "");
  call.path = "upload/" + call.path;
  call.query.emplace_back("uploadType", "multipart");
  call.query.emplace_back("ifGenerationMatch", if_generation);
  if (!settings_.kms_key.empty()) call.query.emplace_back("kmsKeyName", settings_.kms_key);
  call.query.emplace_back(
      "fields", "name,generation,crc32c,retentionExpirationTime,eventBasedHold,temporaryHold");
  call.content_type = "multipart/related; boundary=" + mark;
  call.content = fmt::format(
      "--{0}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{1}\r\n"
      "--{0}\r\nContent-Type: application/json\r\n\r\n",
      mark, metadata);
  call.content->append(stored).append("\r\n--" + mark + "--\r\n");
  call.idempotency = http::Idempotency::kNonIdempotent;
  call.settled = true;
  Result<http::Response> response = Write(call, bucket, std::move(stop));
  if (!response) return response.error();
  const Result<Value> object = ParseJson(response->body);
  // Something was done, and it is not known what.
  if (!object || (*object)["name"].AsString() != name || (*object)["crc32c"].AsString() != sum ||
      !IsGeneration((*object)["generation"].AsString())) {
    Error error = OddStorage("to an upload does not tell what was written");
    error.code = ErrorCode::kReplyLost;
    return error;
  }
  if (kept != nullptr) {
    *kept = !(*object)["retentionExpirationTime"].AsString().empty() ||
            (*object)["eventBasedHold"].AsBool() || (*object)["temporaryHold"].AsBool();
  }
  return (*object)["generation"].AsString();
}

Result<void> StorageClient::Delete(const std::string& bucket, const std::string& name,
                                   const std::string& if_generation, const std::stop_token& stop) {
  if (name.empty() || !IsGeneration(if_generation)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("gs://{}/{} cannot be deleted: generation {}", bucket,
                    VisibleControls(name.substr(0, kQuoted)), VisibleControls(if_generation)));
  }
  Call call = ObjectCall("DELETE", bucket, name);
  call.query.emplace_back("ifGenerationMatch", if_generation);
  call.idempotency = http::Idempotency::kNonIdempotent;
  call.settled = true;
  Result<http::Response> response = Write(call, bucket, std::move(stop));
  if (response) return {};
  return response.error();
}

Result<StorageKeeping> StorageClient::Keeping(const std::string& bucket,
                                              const std::stop_token& stop) {
  Call call;
  call.path = fmt::format("{}b/{}", kStorageApi, http::PercentEncode(bucket));
  call.query = {{"fields", "retentionPolicy,defaultEventBasedHold,versioning"}};
  if (!settings_.user_project.empty())
    call.query.emplace_back("userProject", settings_.user_project);
  Result<http::Response> response = reads_.Exchange(call, std::move(stop));
  if (!response) return response.error();
  if (response->status != 200) return StorageErrorFrom(*response, bucket);
  const Result<Value> told = ParseJson(response->body);
  if (!told || !told->is_map()) return OddStorage("about a bucket is not a JSON object");
  StorageKeeping keeping;
  const Value& policy = (*told)["retentionPolicy"];
  keeping.retention = std::chrono::seconds(policy["retentionPeriod"].AsInt());
  keeping.is_locked = policy["isLocked"].AsBool();
  keeping.holds = (*told)["defaultEventBasedHold"].AsBool();
  keeping.has_versions = (*told)["versioning"]["enabled"].AsBool();
  return keeping;
}

Result<void> StorageClient::MakeBucket(const std::string& project, const std::string& bucket,
                                       const std::string& location, const std::stop_token& stop) {
  Call call;
  call.method = "POST";
  call.path = fmt::format("{}b", kStorageApi);
  call.query = {{"project", project}};
  if (!settings_.user_project.empty())
    call.query.emplace_back("userProject", settings_.user_project);
  Value body = Value::Map{{"name", bucket}, {"location", location}};
  body.SetPath("versioning.enabled", true);
  body.SetPath("iamConfiguration.uniformBucketLevelAccess.enabled", true);
  call.body = std::move(body);
  call.idempotency = http::Idempotency::kNonIdempotent;
  call.settled = true;
  Result<http::Response> response = Write(call, bucket, std::move(stop));
  if (response) return {};
  Error error = response.error();
  if (error.code == ErrorCode::kPermissionDenied) {
    error.hint = fmt::format(
        "whoever makes it needs roles/storage.admin in the project {}; or somebody else makes it: "
        "`gcloud storage buckets create gs://{} --location={} --uniform-bucket-level-access`",
        project, bucket, location);
  }
  return error;
}

}  // namespace podctl::gcp
