// Package main serves buckets over S3's protocol, in memory: `s3 ADDRESS`.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	server := &http.Server{
		Addr:              os.Args[1],
		Handler:           gofakes3.New(s3mem.New()).Server(),
		ReadHeaderTimeout: time.Minute,
	}
	log.Fatal(server.ListenAndServe())
}
