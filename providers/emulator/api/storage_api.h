// What is asked under the paths of Cloud Storage's JSON API (v1): /storage/v1/…, /download/…,
// /upload/… and /resumable/upload/…. Turns a request into a call of service/storage.h, and its
// answer into what Google's clients expect. Thread safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/value.h"
#include "providers/emulator/api/http_server.h"
#include "providers/emulator/service/service.h"
#include "providers/emulator/service/storage.h"

namespace podctl::emulator {

// A request that has been looked at; `refusal`: it can be no call.
struct StorageRequest {
  std::string call = "unknown";  // "storage.objects.insert"
  StorageCall what;
  std::string upload_type;  // "media", "multipart", "resumable"
  std::string upload_id;    // of one that goes on
  std::shared_ptr<const std::string> bytes;
  Refusal refusal;
  // As it is counted, and met by faults: with the object's name in the path, wherever it stood.
  HttpRequest shown;
};

// ---- Uploads in pieces. The first request says what it is to be, and gets an id; each further one
// brings bytes. Google forgets one after a week; here the oldest go when there are too many.
class StorageUploads {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of all; more is refused

  struct Upload {
    StorageCall what;
    std::string bytes;
  };
  std::string Begin(const StorageCall& what);
  bool Cancel(const std::string& id);
  // What the piece makes of it: the whole (it is then forgotten), a refusal, or how many bytes
  // there are now. `range`: the header Content-Range, "" for the whole at once.
  struct Progress {
    std::optional<Upload> whole;
    Refusal refusal;
    std::size_t bytes = 0;
  };
  Progress Add(const std::string& id, std::string_view range, std::string_view piece);
  std::optional<StorageCall> Find(const std::string& id);

 private:
  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::deque<std::string> order_;
  std::map<std::string, Upload> uploads_;
};

// Takes the metadata and the bytes of a body of multipart/related apart (RFC 2387).
Refusal ReadMultipart(const HttpRequest& request, Value* metadata, std::string* bytes,
                      std::string* type);

class StorageApi {
 public:
  explicit StorageApi(Service* service) : service_(service) {}  // lent

  static bool Serves(std::string_view path);
  // The XML API's way to read an object, GET /BUCKET/OBJECT, by which Google's client of Go reads
  // (terraform's backend gcs, for one): the same as a request to the JSON API; nullopt: it is not
  // of a bucket that there is.
  std::optional<HttpRequest> AsJsonApi(const HttpRequest& request);
  StorageRequest Read(const HttpRequest& request);
  HttpReply Answer(const HttpRequest& request, const StorageRequest& read);

 private:
  emulator::Answer Do(const HttpRequest& request, const StorageRequest& read);
  // As much of the answer as `fields` selects; null: there is nothing to tell.
  static void Show(const HttpRequest& request, Value value, HttpReply* reply);
  HttpReply Upload(const HttpRequest& request, const StorageRequest& read);
  void ReadUpload(const HttpRequest& request, StorageRequest* read);

  Service* const service_;
  StorageUploads uploads_;
};

bool IsStorageCallName(std::string_view name);
// A status, and no body.
void ShowNothing(int status, HttpReply* reply);
// An error in the older shape, or a 304 without a body.
void ShowStorageError(const ApiError& error, HttpReply* reply);

}  // namespace podctl::emulator
