// The second part of storage_api.h: how the bytes of an object come.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/api/schema.h"
#include "providers/emulator/api/storage_api.h"

namespace podctl::emulator {
namespace {

// What is not the end of an upload is kept up to a multiple of this only.
constexpr std::size_t kQuantum = std::size_t{256} << 10;

std::string_view HeaderOf(const HttpRequest& request, std::string_view name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string_view() : found->second;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\"");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n\"") - first + 1);
}

// "abc" of "multipart/related; boundary=\"abc\"".
std::string BoundaryOf(std::string_view type) {
  constexpr std::string_view kName = "boundary=";
  if (!LowerCase(type).starts_with("multipart/related")) return {};
  const std::size_t at = LowerCase(type).find(kName);
  if (at == std::string::npos) return {};
  std::string_view rest = type.substr(at + kName.size());
  rest = Trimmed(rest.substr(0, rest.find(';')));
  // gcloud writes quotes as Python does.
  if (rest.size() > 1 && rest.starts_with('\'') && rest.ends_with('\'')) {
    rest = rest.substr(1, rest.size() - 2);
  }
  return std::string(rest);
}

// Of the lines before a blank one: the type. What is behind them is left in `part`.
std::string TakeTypeOfPart(std::string_view* part) {
  std::string type;
  while (!part->empty()) {
    const std::size_t end = std::min(part->find('\n'), part->size());
    const std::string_view line = part->substr(0, end);
    part->remove_prefix(std::min(end + 1, part->size()));
    if (Trimmed(line).empty()) break;
    const std::size_t colon = std::min(line.find(':'), line.size());
    if (LowerCase(Trimmed(line.substr(0, colon))) == "content-type") {
      type = Trimmed(line.substr(std::min(colon + 1, line.size())));
    }
  }
  return type;
}

ApiError BadMultipart(std::string_view why) {
  return StorageInvalid(fmt::format("Invalid multipart request: {}", why));
}

Refusal ReadMetadata(std::string_view text, Value* metadata) {
  Result<Value> json = ParseLenientJson(text);
  if (!json || !json->is_map()) return StorageError(400, "parseError", "Parse Error");
  *metadata = *std::move(json);
  return std::nullopt;
}

struct Piece {
  std::optional<std::size_t> first;  // nullopt: it only asks
  std::optional<std::size_t> total;  // nullopt: not known yet
};

// "bytes 0-99/100", "bytes 0-99/*", "bytes */100"; nullopt: none of these.
std::optional<Piece> ReadContentRange(std::string_view range, std::size_t bytes) {
  Piece piece;
  if (range.empty()) {
    piece.first = 0;
    piece.total = bytes;
    return piece;
  }
  constexpr std::string_view kUnit = "bytes ";
  const std::size_t slash = range.find('/');
  if (!range.starts_with(kUnit) || slash == std::string_view::npos) return std::nullopt;
  const std::string_view total = Trimmed(range.substr(slash + 1));
  const std::string_view span = Trimmed(range.substr(kUnit.size(), slash - kUnit.size()));
  std::size_t number = 0;
  if (total != "*") {
    if (!ReadNumber(total, &number)) return std::nullopt;
    piece.total = number;
  }
  if (span == "*") return piece;
  const std::size_t dash = span.find('-');
  std::size_t last = 0;
  if (dash == std::string_view::npos || !ReadNumber(span.substr(0, dash), &number) ||
      !ReadNumber(span.substr(dash + 1), &last) || last + 1 - number != bytes) {
    return std::nullopt;
  }
  piece.first = number;
  return piece;
}

}  // namespace

Refusal ReadMultipart(const HttpRequest& request, Value* metadata, std::string* bytes,
                      std::string* type) {
  const std::string boundary = BoundaryOf(HeaderOf(request, "content-type"));
  if (boundary.empty()) return BadMultipart("the Content-Type has no boundary.");
  const std::string mark = "--" + boundary;
  std::string_view rest = request.body;
  const std::size_t begin = rest.starts_with(mark) ? 0 : rest.find("\n" + mark);
  if (begin == std::string_view::npos) return BadMultipart("there is no boundary.");
  rest.remove_prefix(begin + mark.size() + (begin == 0 ? 0 : 1));
  const std::string line_end = rest.starts_with("\r\n") ? "\r\n" : "\n";
  std::array<std::string_view, 2> parts;
  for (std::string_view& part : parts) {
    if (!rest.starts_with(line_end)) return BadMultipart("it must have two parts.");
    rest.remove_prefix(line_end.size());
    const std::size_t end = rest.find(line_end + mark);
    if (end == std::string_view::npos) return BadMultipart("it does not end.");
    part = rest.substr(0, end);
    rest.remove_prefix(end + line_end.size() + mark.size());
  }
  if (!rest.starts_with("--")) return BadMultipart("it must have two parts.");
  TakeTypeOfPart(&parts[0]);
  if (auto refusal = ReadMetadata(parts[0], metadata)) return refusal;
  *type = TakeTypeOfPart(&parts[1]);
  *bytes = parts[1];
  return std::nullopt;
}

std::string StorageUploads::Begin(const StorageCall& what) {
  const std::lock_guard lock(mutex_);
  while (order_.size() >= kMost) {
    uploads_.erase(order_.front());
    order_.pop_front();
  }
  std::string id =
      fmt::format("{:016x}", Fnv1a(fmt::format("{}/{}/{}", what.bucket, what.object, next_++)));
  uploads_[id] = {what, ""};
  order_.push_back(id);
  return id;
}

bool StorageUploads::Cancel(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::erase(order_, id);
  return uploads_.erase(id) > 0;
}

std::optional<StorageCall> StorageUploads::Find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return std::nullopt;
  return found->second.what;
}

StorageUploads::Progress StorageUploads::Add(const std::string& id, std::string_view range,
                                             std::string_view piece) {
  const std::lock_guard lock(mutex_);
  Progress progress;
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) {
    progress.refusal = StorageErrorOf(404, "No such upload.");
    return progress;
  }
  std::string& bytes = found->second.bytes;
  const auto said = ReadContentRange(range, piece.size());
  if (!said || (said->first && *said->first > bytes.size())) {
    progress.refusal = StorageInvalid("Invalid request. The Content-Range does not fit.");
    return progress;
  }
  std::size_t held = piece.size();
  for (const auto& entry : uploads_) held += entry.second.bytes.size();
  if (held > kMostBytes) {
    progress.refusal = StorageErrorOf(503, "There are too many unfinished uploads.");
    return progress;
  }
  if (said->first) {
    const std::size_t known = bytes.size() - *said->first;
    if (known < piece.size()) bytes += piece.substr(known);
  }
  if (bytes.size() > kLargestObject) {
    progress.refusal = StorageErrorOf(413, "The emulator keeps objects of 64 MiB at most.");
    uploads_.erase(found);
    std::erase(order_, id);
    return progress;
  }
  const bool is_whole = said->total && bytes.size() >= *said->total;
  if (is_whole && bytes.size() > *said->total) {
    progress.refusal = StorageInvalid("Invalid request. There are more bytes than were announced.");
    return progress;
  }
  if (is_whole) {
    progress.whole = std::move(found->second);
    uploads_.erase(found);
    std::erase(order_, id);
    return progress;
  }
  bytes.resize(bytes.size() / kQuantum * kQuantum);
  progress.bytes = bytes.size();
  return progress;
}

void StorageApi::ReadUpload(const HttpRequest& request, StorageRequest* read) {
  const auto given = [&](std::string_view name) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
  };
  read->upload_type = given("uploadType");
  read->upload_id = given("upload_id");
  if (!read->upload_id.empty()) {
    read->upload_type = "resumable";
    if (auto what = uploads_.Find(read->upload_id)) read->what = *std::move(what);
    return;
  }
  std::string bytes;
  std::string type(HeaderOf(request, "content-type"));
  if (read->upload_type == "media") {
    bytes = request.body;
    read->what.body = Value::EmptyMap();
  } else if (read->upload_type == "multipart") {
    read->refusal = ReadMultipart(request, &read->what.body, &bytes, &type);
  } else if (read->upload_type == "resumable") {
    read->refusal = ReadMetadata(request.body, &read->what.body);
    type = HeaderOf(request, "x-upload-content-type");
  } else {
    read->refusal = StorageInvalid(fmt::format(
        "Invalid upload type '{}': media, multipart and resumable are known.", read->upload_type));
  }
  if (read->refusal) return;
  Value& body = read->what.body;
  read->what.object = body["name"].AsString();
  if (read->what.object.empty()) read->what.object = given("name");
  if (read->what.kms_key.empty()) read->what.kms_key = body["kmsKeyName"].AsString();
  if (body["contentType"].AsString().empty() && !type.empty()) body.Set("contentType", type);
  if (const std::string encoding = given("contentEncoding"); !encoding.empty()) {
    body.Set("contentEncoding", encoding);
  }
  read->bytes = std::make_shared<const std::string>(std::move(bytes));
}

// A piece of a resumable upload, or its beginning.
HttpReply StorageApi::Upload(const HttpRequest& request, const StorageRequest& read) {
  HttpReply reply;
  const auto refuse = [&](const ApiError& error) {
    ShowStorageError(error, &reply);
    return reply;
  };
  if (read.upload_id.empty()) {
    {
      const auto lock = service_->Lock();
      if (auto refusal = service_->storage.CheckInsert(read.what)) return refuse(*refusal);
    }
    const std::string id = uploads_.Begin(read.what);
    reply.headers = {
        {"X-GUploader-UploadID", id},
        {"Location", fmt::format("http://{}/upload/storage/v1/b/{}/o?uploadType=resumable&"
                                 "upload_id={}",
                                 HeaderOf(request, "host"), PathPart(read.what.bucket), id)}};
    ShowNothing(200, &reply);
    return reply;
  }
  if (request.method == "DELETE") {
    if (!uploads_.Cancel(read.upload_id)) return refuse(StorageErrorOf(404, "No such upload."));
    ShowNothing(499, &reply);
    return reply;
  }
  auto progress = uploads_.Add(read.upload_id, HeaderOf(request, "content-range"), request.body);
  if (progress.refusal) return refuse(*progress.refusal);
  if (!progress.whole) {
    ShowNothing(308, &reply);
    if (progress.bytes > 0) {
      reply.headers = {{"Range", fmt::format("bytes=0-{}", progress.bytes - 1)}};
    }
    return reply;
  }
  const auto lock = service_->Lock();
  emulator::Answer answer = service_->storage.Insert(
      progress.whole->what, std::make_shared<const std::string>(std::move(progress.whole->bytes)));
  if (const auto* error = std::get_if<ApiError>(&answer)) return refuse(*error);
  Show(request, std::get<Value>(std::move(answer)), &reply);
  return reply;
}

}  // namespace podctl::emulator
