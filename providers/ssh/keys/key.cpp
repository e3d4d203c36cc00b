#include "providers/ssh/keys/key.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "providers/base/encoding.h"
#include "providers/ssh/keys/wire.h"

namespace podctl::ssh {
namespace {

struct FreeOpenSsl {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_PKEY_CTX* p) const { EVP_PKEY_CTX_free(p); }
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  void operator()(BIGNUM* p) const { BN_clear_free(p); }
  void operator()(BN_CTX* p) const { BN_CTX_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(ECDSA_SIG* p) const { ECDSA_SIG_free(p); }
  void operator()(OSSL_PARAM_BLD* p) const { OSSL_PARAM_BLD_free(p); }
  void operator()(OSSL_PARAM* p) const { OSSL_PARAM_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;
using SharedPkey = std::shared_ptr<EVP_PKEY>;

const unsigned char* Raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// RFC 5656 section 10.1 names the curves; OpenSSL has names of its own for them.
struct Curve {
  std::string_view type;
  std::string_view name;
  const char* group;
  const EVP_MD* (*digest)();
};
constexpr std::array<Curve, 3> kCurves = {{
    {"ecdsa-sha2-nistp256", "nistp256", "prime256v1", EVP_sha256},
    {"ecdsa-sha2-nistp384", "nistp384", "secp384r1", EVP_sha384},
    {"ecdsa-sha2-nistp521", "nistp521", "secp521r1", EVP_sha512},
}};

const Curve* CurveOfType(std::string_view type) {
  for (const Curve& curve : kCurves) {
    if (curve.type == type) return &curve;
  }
  return nullptr;
}

std::string BytesOf(const BIGNUM* number) {
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

class FileKey final : public Key {
 public:
  FileKey(std::string blob, std::string label, SharedPkey pkey)
      : Key(std::move(blob), std::move(label)), pkey_(std::move(pkey)) {}

  bool IsSlow() const override { return type() == "ssh-rsa" || type() == "ecdsa-sha2-nistp521"; }

  Result<std::string> Sign(std::string_view algorithm, std::string_view data) const override {
    const EVP_MD* digest = nullptr;  // Ed25519 hashes by itself
    if (type() == "ssh-rsa") {
      if (algorithm == "rsa-sha2-512") {
        digest = EVP_sha512();
      } else if (algorithm == "rsa-sha2-256") {
        digest = EVP_sha256();
      } else {
        return MakeError(ErrorCode::kUnimplemented,
                         fmt::format("the server wants signatures of the retired kind `{}`",
                                     std::string(algorithm)));
      }
    } else if (const Curve* curve = CurveOfType(type())) {
      digest = curve->digest();
    }
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    std::size_t size = 0;
    if (context == nullptr ||
        EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, pkey_.get()) != 1 ||
        EVP_DigestSign(context.get(), nullptr, &size, Raw(data), data.size()) != 1) {
      return Failed();
    }
    std::string signature(size, '\0');
    if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                       Raw(data), data.size()) != 1) {
      return Failed();
    }
    signature.resize(size);
    if (CurveOfType(type()) == nullptr) return signature;
    // RFC 5656 section 3.1.2: two mpints in place of OpenSSL's DER.
    const unsigned char* der = Raw(signature);
    const Owned<ECDSA_SIG> pair(d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size)));
    if (pair == nullptr) return Failed();
    std::string out;
    AppendMpint(out, BytesOf(ECDSA_SIG_get0_r(pair.get())));
    AppendMpint(out, BytesOf(ECDSA_SIG_get0_s(pair.get())));
    return out;
  }

 private:
  Error Failed() const {
    return MakeError(ErrorCode::kInternal, fmt::format("signing with `{}` failed", label()));
  }
  SharedPkey pkey_;  // OpenSSL wipes a private key when its last owner frees it
};

SharedPkey Share(EVP_PKEY* pkey) {
  return SharedPkey(pkey, FreeOpenSsl());
}

SharedPkey FromParameters(const char* algorithm, OSSL_PARAM_BLD* builder) {
  const Owned<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder));
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, algorithm, nullptr));
  EVP_PKEY* pkey = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &pkey, EVP_PKEY_KEYPAIR, parameters.get()) != 1) {
    return nullptr;
  }
  return Share(pkey);
}

Owned<BIGNUM> Number(std::string_view bytes) {
  Owned<BIGNUM> number(BN_bin2bn(Raw(bytes), static_cast<int>(bytes.size()), BN_secure_new()));
  if (number != nullptr) BN_set_flags(number.get(), BN_FLG_CONSTTIME);
  return number;
}

SharedPkey ReadEcdsa(const Curve& curve, WireReader& reader) {
  const std::string_view name = reader.String();
  const std::string_view point = reader.String();
  const Owned<BIGNUM> secret = Number(reader.String());
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (!reader.ok() || name != curve.name || secret == nullptr || builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.group, 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, secret.get()) != 1) {
    return nullptr;
  }
  return FromParameters("EC", builder.get());
}

// d modulo (prime - 1): the two exponents that the OpenSSH format leaves out.
Owned<BIGNUM> Exponent(const BIGNUM* d, const BIGNUM* prime) {
  const Owned<BN_CTX> scratch(BN_CTX_secure_new());
  const Owned<BIGNUM> less(BN_dup(prime));
  Owned<BIGNUM> exponent(BN_secure_new());
  if (scratch == nullptr || less == nullptr || exponent == nullptr ||
      BN_sub_word(less.get(), 1) != 1 ||
      BN_mod(exponent.get(), d, less.get(), scratch.get()) != 1) {
    return nullptr;
  }
  return exponent;
}

SharedPkey ReadRsa(WireReader& reader) {
  const Owned<BIGNUM> n = Number(reader.String());
  const Owned<BIGNUM> e = Number(reader.String());
  const Owned<BIGNUM> d = Number(reader.String());
  const Owned<BIGNUM> inverse = Number(reader.String());
  const Owned<BIGNUM> p = Number(reader.String());
  const Owned<BIGNUM> q = Number(reader.String());
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (!reader.ok() || !n || !e || !d || !inverse || !p || !q || builder == nullptr) return nullptr;
  const Owned<BIGNUM> dp = Exponent(d.get(), p.get());
  const Owned<BIGNUM> dq = Exponent(d.get(), q.get());
  if (!dp || !dq) return nullptr;
  const std::pair<const char*, const BIGNUM*> parts[] = {
      {OSSL_PKEY_PARAM_RSA_N, n.get()},          {OSSL_PKEY_PARAM_RSA_E, e.get()},
      {OSSL_PKEY_PARAM_RSA_D, d.get()},          {OSSL_PKEY_PARAM_RSA_FACTOR1, p.get()},
      {OSSL_PKEY_PARAM_RSA_FACTOR2, q.get()},    {OSSL_PKEY_PARAM_RSA_EXPONENT1, dp.get()},
      {OSSL_PKEY_PARAM_RSA_EXPONENT2, dq.get()}, {OSSL_PKEY_PARAM_RSA_COEFFICIENT1, inverse.get()},
  };
  for (const auto& [name, number] : parts) {
    if (OSSL_PARAM_BLD_push_BN(builder.get(), name, number) != 1) return nullptr;
  }
  return FromParameters("RSA", builder.get());
}

Error NotAKey(const std::string& path) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("`{}` is not a private key that podctl can read", path),
                   "Ed25519, ECDSA and RSA keys in the OpenSSH format or in PEM work");
}

constexpr std::string_view kMagic("openssh-key-v1\0", 15);
constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";

// OpenSSH's PROTOCOL.key.
Result<KeyFile> ParseOpenSsh(std::string_view text, const std::string& path) {
  const std::size_t begin = text.find(kBegin) + kBegin.size();
  const std::size_t end = text.find(kEnd, begin);
  if (end == std::string_view::npos) return NotAKey(path);
  std::optional<std::string> decoded = Base64Decode(text.substr(begin, end - begin));
  if (!decoded.has_value()) return NotAKey(path);
  const Secret data(std::move(*decoded));
  WireReader outer(data.view());
  if (outer.Bytes(kMagic.size()) != kMagic) return NotAKey(path);
  const std::string_view cipher = outer.String();
  outer.String();  // name of the key derivation
  outer.String();  // its options
  const std::uint32_t count = outer.Number();
  const std::string_view blob = outer.String();
  const std::string_view section = outer.String();
  if (!outer.ok() || count != 1) return NotAKey(path);
  if (cipher != "none") return KeyFile{std::string(blob), nullptr};

  WireReader reader(section);
  const std::uint32_t check = reader.Number();
  if (check != reader.Number()) return NotAKey(path);
  const std::string_view type = reader.String();
  SharedPkey pkey;
  if (type == "ssh-ed25519") {
    reader.String();                                  // the public half
    const std::string_view secret = reader.String();  // seed, then the public half again
    if (reader.ok() && secret.size() == 64) {
      pkey = Share(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Raw(secret), 32));
    }
  } else if (type == "ssh-rsa") {
    pkey = ReadRsa(reader);
  } else if (const Curve* curve = CurveOfType(type)) {
    pkey = ReadEcdsa(*curve, reader);
  }
  if (pkey == nullptr) return NotAKey(path);
  return KeyFile{std::string(blob), std::make_shared<FileKey>(std::string(blob), path, pkey)};
}

Owned<BIGNUM> Parameter(const EVP_PKEY* pkey, const char* name) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(pkey, name, &number);
  return Owned<BIGNUM>(number);
}

// Empty when the key is of a kind that SSH has no name for.
std::string PublicBlob(const EVP_PKEY* pkey) {
  std::string blob;
  switch (EVP_PKEY_get_base_id(pkey)) {
    case EVP_PKEY_ED25519: {
      std::string point(32, '\0');
      std::size_t size = point.size();
      if (EVP_PKEY_get_raw_public_key(pkey, reinterpret_cast<unsigned char*>(point.data()),
                                      &size) != 1) {
        return {};
      }
      AppendString(blob, "ssh-ed25519");
      AppendString(blob, point);
      return blob;
    }
    case EVP_PKEY_RSA: {
      const Owned<BIGNUM> e = Parameter(pkey, OSSL_PKEY_PARAM_RSA_E);
      const Owned<BIGNUM> n = Parameter(pkey, OSSL_PKEY_PARAM_RSA_N);
      if (!e || !n) return {};
      AppendString(blob, "ssh-rsa");
      AppendMpint(blob, BytesOf(e.get()));
      AppendMpint(blob, BytesOf(n.get()));
      return blob;
    }
    case EVP_PKEY_EC: {
      char group[64] = {};
      if (EVP_PKEY_get_group_name(pkey, group, sizeof(group), nullptr) != 1) return {};
      for (const Curve& curve : kCurves) {
        if (std::string_view(group) != curve.group) continue;
        const Owned<BIGNUM> x = Parameter(pkey, OSSL_PKEY_PARAM_EC_PUB_X);
        const Owned<BIGNUM> y = Parameter(pkey, OSSL_PKEY_PARAM_EC_PUB_Y);
        if (!x || !y) return {};
        const int width = (EVP_PKEY_get_bits(pkey) + 7) / 8;
        std::string point(static_cast<std::size_t>(1 + 2 * width), '\4');  // SEC1: uncompressed
        auto* bytes = reinterpret_cast<unsigned char*>(point.data());
        if (BN_bn2binpad(x.get(), bytes + 1, width) < 0 ||
            BN_bn2binpad(y.get(), bytes + 1 + width, width) < 0) {
          return {};
        }
        AppendString(blob, curve.type);
        AppendString(blob, curve.name);
        AppendString(blob, point);
        return blob;
      }
      return {};
    }
    default:
      return {};
  }
}

// OpenSSL asks for a passphrase through this; there is none to give.
int NoPassphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Result<KeyFile> ParsePem(std::string_view text, const std::string& path) {
  const Owned<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  bool asked = false;
  const SharedPkey pkey(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, &asked),
                        FreeOpenSsl());
  if (asked) return KeyFile{};
  std::string blob = pkey == nullptr ? std::string() : PublicBlob(pkey.get());
  if (blob.empty()) return NotAKey(path);
  auto key = std::make_shared<FileKey>(blob, path, pkey);
  return KeyFile{std::move(blob), std::move(key)};
}

}  // namespace

Key::Key(std::string blob, std::string label)
    : blob_(std::move(blob)), type_(WireReader(blob_).String()), label_(std::move(label)) {}

Result<KeyFile> ParseKeyFile(std::string_view text, const std::string& path) {
  if (text.find(kBegin) != std::string_view::npos) return ParseOpenSsh(text, path);
  return ParsePem(text, path);
}

Result<NewKey> MakeEd25519Key(const std::string& comment) {
  const Error failed = MakeError(ErrorCode::kInternal, "making an Ed25519 key failed");
  const SharedPkey pkey = Share(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (pkey == nullptr) return failed;
  std::array<char, 32> seed_bytes{};
  std::size_t size = seed_bytes.size();
  std::uint32_t check = 0;
  if (EVP_PKEY_get_raw_private_key(pkey.get(), reinterpret_cast<unsigned char*>(seed_bytes.data()),
                                   &size) != 1 ||
      RAND_bytes(reinterpret_cast<unsigned char*>(&check), sizeof(check)) != 1) {
    return failed;
  }
  const std::string blob = PublicBlob(pkey.get());
  const std::string point = blob.substr(blob.size() - 32);
  std::string section;
  section.reserve(512);  // no growing: growing would leave copies of the secret behind
  AppendNumber(section, check);
  AppendNumber(section, check);
  AppendString(section, "ssh-ed25519");
  AppendString(section, point);
  AppendNumber(section, 64);
  section.append(seed_bytes.data(), seed_bytes.size()).append(point);
  OPENSSL_cleanse(seed_bytes.data(), seed_bytes.size());
  AppendString(section, comment.substr(0, 128));
  for (char pad = 1; section.size() % 8 != 0; ++pad) section.push_back(pad);

  std::string data;
  data.reserve(1024);
  data.append(kMagic);
  AppendString(data, "none");
  AppendString(data, "none");
  AppendString(data, "");
  AppendNumber(data, 1);
  AppendString(data, blob);
  AppendString(data, section);
  const Secret section_wiper(std::move(section));
  const Secret body(Base64Encode(data));
  const Secret data_wiper(std::move(data));

  NewKey made;
  made.private_text.reserve(2048);
  made.private_text.append(kBegin).append("\n");
  for (std::size_t at = 0; at < body.view().size(); at += 70) {
    made.private_text.append(body.view().substr(at, 70)).append("\n");
  }
  made.private_text.append(kEnd).append("\n");
  made.public_line = "ssh-ed25519 " + Base64Encode(blob) + " " + comment;
  return made;
}

}  // namespace podctl::ssh
