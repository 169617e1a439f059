#include "proto/tls/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <memory>

namespace znni {
namespace {

template <auto release>
struct Release {
  template <class T>
  void operator()(T* held) const {
    static_cast<void>(release(held));
  }
};
using Bio = std::unique_ptr<BIO, Release<BIO_free>>;
using Certificate = std::unique_ptr<X509, Release<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;

Bio bio_of(const PemFile& file) { return Bio(BIO_new_mem_buf(file.text.data(), static_cast<int>(file.text.size()))); }

Error wrong(const PemFile& file, const std::string& found, const std::string& right) {
  ERR_clear_error();
  return {ErrorCode::corrupt_file, file.name + ": " + found + "; " + right + " is right"};
}

// Gives no passphrase, and asks for none.
int no_passphrase(char* /*text*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

std::vector<Certificate> certificates_of(const PemFile& file) {
  const Bio bio = bio_of(file);
  std::vector<Certificate> all;
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) all.emplace_back(one);
  ERR_clear_error();
  return all;
}

Key key_of(const PemFile& file) {
  const Bio bio = bio_of(file);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  return key;
}

Error no_certificate(const PemFile& file, const std::string& right) {
  if (key_of(file) != nullptr) return wrong(file, "holds a private key and no certificate that can be read", right);
  return wrong(file, "holds no certificate that can be read", right);
}

Error no_key(const PemFile& file) {
  const std::string also = certificates_of(file).empty() ? "holds " : "holds a certificate and ";
  return wrong(file, also + "no private key that can be read", "one as PEM, without a passphrase,");
}

std::string date_text(const ASN1_TIME* time) {
  std::tm date{};
  std::array<char, 32> text{};
  if (ASN1_TIME_to_tm(time, &date) != 1) return "an unknown day";
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &date);
  return text.data();
}

Validity validity_of(const X509& certificate, std::time_t now) {
  constexpr std::time_t day = 24 * 60 * 60;
  const ASN1_TIME* const begin = X509_get0_notBefore(&certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(&certificate);
  std::time_t soon = now + days_of_warning * day;
  if (X509_cmp_time(begin, &now) > 0) return {"is not valid before " + date_text(begin), ""};
  if (X509_cmp_time(end, &now) <= 0) return {"expired on " + date_text(end), ""};
  if (X509_cmp_time(end, &soon) <= 0) return {"", "expires on " + date_text(end)};
  return {};
}

std::vector<Validity> validities_of(const std::vector<Certificate>& certificates, std::time_t now) {
  std::vector<Validity> validities;
  for (const Certificate& certificate : certificates) validities.push_back(validity_of(*certificate, now));
  return validities;
}

}  // namespace

Result<std::vector<Validity>> check_pair(const PemFile& certificate, const PemFile& key, std::time_t now) {
  const std::vector<Certificate> chain = certificates_of(certificate);
  if (chain.empty()) return no_certificate(certificate, "one as PEM");
  const Key own = key_of(key);
  if (own == nullptr) return no_key(key);
  if (X509_check_private_key(chain.front().get(), own.get()) != 1) {
    return wrong(key, "is not the key of the certificate in " + certificate.name, "the one it was made with");
  }
  return validities_of(chain, now);
}

Result<std::vector<Validity>> check_authorities(const PemFile& authorities, std::time_t now) {
  const std::vector<Certificate> all = certificates_of(authorities);
  if (all.empty()) return no_certificate(authorities, "one of an authority, as PEM,");
  return validities_of(all, now);
}

}  // namespace znni
